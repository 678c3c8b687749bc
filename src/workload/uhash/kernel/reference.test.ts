import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { fillPad, hash, hashNonce, meets, mixPad, phaseOf, seedOf, verify, zeroBits } from './reference.js';
import { aesRound, BLAKE3_IV, blake3, blake3Rounds, bytesOf, sha256Compress, wordsOf } from './reference-compress.js';

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/${name}`, import.meta.url), 'utf8'));
const vectors = read('uhash/vectors.json') as Vectors;
const bytes = (hex: string): Uint8Array => Buffer.from(hex, 'hex');
const hex = (of: Uint8Array | Uint32Array): string =>
  Buffer.from(of instanceof Uint32Array ? bytesOf(of) : of).toString('hex');

describe('whole hashes', () => {
  // A hash takes 0.1 s.
  it.each(vectors.hash_vectors.filter((_, at) => at % byTier(4, 1) === 0))(
    '$name',
    ({ input_hex: input, hash: expected, leading_zero_bits: bits, nonce }) => {
      const digest = hash(bytes(input));
      expect(hex(digest)).toBe(expected);
      expect(zeroBits(digest)).toBe(bits);
      // `hash` is `hashNonce` with the nonce in the last 8 bytes.
      if (input.length === 16) expect(hex(hashNonce(bytes(input.slice(0, -16)), BigInt(nonce)))).toBe(expected);
    },
  );
});

describe('primitives', () => {
  it.each(vectors.primitive_vectors.map((vector, at) => ({ at, ...vector })))('$at: $primitive', (vector) => {
    const state = wordsOf(bytes(vector.state));
    const block = wordsOf(bytes(vector.block ?? vector.key ?? ''));
    const working = new Uint32Array(16);
    switch (vector.primitive) {
      case 'aes_expand_4_rounds':
        for (let i = 0; i < 4; i++) aesRound(state, 0, block, 0);
        break;
      case 'aes_compress':
        for (const key of [0, 1, 2, 3]) aesRound(state, 0, block, 4 * key);
        for (const key of [2, 3, 0, 1]) aesRound(state, 4, block, 4 * key);
        break;
      case 'sha256_compress':
        sha256Compress(state, block, 0);
        break;
      default:
        working.set(state);
        working.set(BLAKE3_IV, 8);
        blake3Rounds(working, block, 0);
        state.set(working.subarray(0, 8).map((word, i) => word ^ working[i + 8]!));
    }
    expect(hex(state)).toBe(vector.out);
  });

  it('BLAKE3 matches its published vectors', () => {
    const published = read('blake3/hashes.json') as Record<string, string>;
    for (const [length, expected] of Object.entries(published)) {
      const message = Uint8Array.from({ length: Number(length) }, (_, i) => i % 251);
      expect(hex(blake3(message))).toBe(expected);
    }
  });

  it('SHA-256 of a padded message matches node:crypto', () => {
    const message = bytes('00112233445566778899aabbccddeeff');
    const block = new Uint8Array(64);
    block.set(message);
    block[16] = 0x80;
    block[63] = 128;
    const iv = '6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19';
    const state = wordsOf(bytes(iv));
    sha256Compress(state, wordsOf(block), 0);
    expect(hex(state)).toBe(createHash('sha256').update(message).digest('hex'));
  });
});

describe('intermediate values', () => {
  const vector = vectors.hash_vectors.find(({ name }) => name === vectors.intermediates.for)!;
  const header = bytes(vector.input_hex.slice(0, -16));
  const nonce = BigInt(vector.nonce);

  it.each(vectors.intermediates.chains)('chain $chain', (chain) => {
    const seed = seedOf(header, nonce, chain.chain);
    expect(hex(seed)).toBe(chain.seed);
    expect(phaseOf(nonce, chain.chain)).toBe(chain.start_primitive);
    const pad = fillPad(seed);
    const block = (at: number) => hex(pad.subarray(at * 16, at * 16 + 16));
    expect([block(0), block(1), block(8191)]).toEqual([chain.block_0, chain.block_1, chain.block_8191]);
    expect(createHash('sha256').update(bytesOf(pad)).digest('hex')).toBe(chain.pad_sha256);
    const seen = new Map<number, { block: number; state: string }>();
    const final = mixPad(seed, pad, phaseOf(nonce, chain.chain), (round, at, state) => {
      if (chain.rounds.some((row) => row.round === round)) seen.set(round, { block: at, state: hex(state) });
    });
    for (const row of chain.rounds)
      expect(seen.get(row.round)).toEqual({ block: row.block_index, state: row.state_after });
    expect(hex(final)).toBe(chain.final_state);
    expect(createHash('sha256').update(bytesOf(pad)).digest('hex')).toBe(chain.pad_after_sha256);
  });
});

describe('difficulty', () => {
  it.each(vectors.difficulty_vectors)('$hash has $bits', ({ hash: digest, bits }) => {
    expect(zeroBits(bytes(digest))).toBe(bits);
    expect(meets(bytes(digest), bits)).toBe(true);
    expect(meets(bytes(digest), bits + 1)).toBe(false);
  });
  it('0 is met by every hash, 256 only by zeros, 257 by none', () => {
    const [ones, none] = [new Uint8Array(32).fill(0xff), new Uint8Array(32)];
    expect([meets(ones, 0), meets(none, 256), meets(none, 257), meets(ones, 1)]).toEqual([true, true, false, false]);
  });
});

describe('proofs', () => {
  const [{ challenge, records }] = vectors.proof_vectors as [ProofVectors];
  const { nonce, hash: digest, leading_zero_bits: bits } = records[2]!;
  const proof = { nonce: BigInt(nonce), hash: bytes(digest) };

  it('are verified', () => {
    expect(verify(bytes(challenge), proof, bits)).toMatchObject({ hashMatches: true, difficultyMet: true });
    expect(verify(bytes(challenge), proof, bits + 1)).toMatchObject({ hashMatches: true, difficultyMet: false });
  });
  it('with a changed hash or nonce are rejected', () => {
    const changed = Uint8Array.from(proof.hash);
    changed[31]! ^= 1;
    expect(verify(bytes(challenge), { ...proof, hash: changed }, bits).hashMatches).toBe(false);
    expect(verify(bytes(challenge), { ...proof, nonce: proof.nonce + 1n }, bits).hashMatches).toBe(false);
  });
});

interface ProofVectors {
  readonly challenge: string;
  readonly records: readonly { readonly leading_zero_bits: number; readonly nonce: string; readonly hash: string }[];
}

interface Vectors {
  readonly hash_vectors: readonly {
    readonly name: string;
    readonly input_hex: string;
    readonly hash: string;
    readonly leading_zero_bits: number;
    readonly nonce: string;
  }[];
  readonly primitive_vectors: readonly {
    readonly primitive: string;
    readonly state: string;
    readonly block?: string;
    readonly key?: string;
    readonly out: string;
  }[];
  readonly intermediates: {
    readonly for: string;
    readonly chains: readonly {
      readonly chain: number;
      readonly seed: string;
      readonly start_primitive: number;
      readonly block_0: string;
      readonly block_1: string;
      readonly block_8191: string;
      readonly pad_sha256: string;
      readonly pad_after_sha256: string;
      readonly final_state: string;
      readonly rounds: readonly {
        readonly round: number;
        readonly block_index: number;
        readonly state_after: string;
      }[];
    }[];
  };
  readonly proof_vectors: readonly ProofVectors[];
  readonly difficulty_vectors: readonly { readonly hash: string; readonly bits: number }[];
}
