import { sha256, toHex } from '../../../fleet/digest.js';
import { aesRound, BLAKE3_IV, blake3, blake3Rounds, bytesOf, sha256Compress, wordsOf } from './reference-compress.js';

/**
 * UniversalHash v4 by its specification, written without the kernel language: one chain after the other, one round after
 * the other, 64-bit numbers as bigints. About 60 ms a hash.
 */
export function hash(input: Uint8Array): Uint8Array {
  // Fewer than eight bytes hold no nonce: it is taken from their digest, and the header is empty.
  if (input.length < 8) return hashNonce(new Uint8Array(), readLe64(blake3(input), 0));
  const end = input.length - 8;
  return hashNonce(input.subarray(0, end), readLe64(input, end));
}

export function hashNonce(header: Uint8Array, nonce: bigint): Uint8Array {
  const sum = new Uint32Array(8);
  for (let chain = 0; chain < CHAINS; chain++) {
    const final = runChain(seedOf(header, nonce, chain), nonce, chain);
    final.forEach((word, i) => {
      sum[i] = (sum[i] ?? 0) ^ word;
    });
  }
  return blake3(sha256(bytesOf(sum)));
}

/** Leading zero bits, from the most significant bit of byte 0. */
export function zeroBits(digest: Uint8Array): number {
  let bits = 0;
  for (const byte of digest) {
    if (byte !== 0) return bits + Math.clz32(byte) - 24;
    bits += 8;
  }
  return bits;
}

/** No digest has more than 256 zero bits, so a difficulty above that is met by none. */
export const meets = (digest: Uint8Array, difficulty: number): boolean => zeroBits(digest) >= difficulty;

export interface Proof {
  readonly nonce: bigint;
  readonly hash: Uint8Array;
}

/** Recomputes a proof: checks its hash and its difficulty. */
export function verify(
  header: Uint8Array,
  { nonce, hash: claimed }: Proof,
  difficulty: number,
): { readonly hashMatches: boolean; readonly difficultyMet: boolean; readonly hash: Uint8Array } {
  const right = hashNonce(header, nonce);
  return {
    hashMatches: claimed.length === right.length && claimed.every((byte, i) => byte === right[i]),
    difficultyMet: meets(right, difficulty),
    hash: right,
  };
}

/** Checks a device's result, in the engine's verification thread. */
export function checkFound(
  { index, hash: claimed }: { readonly index: bigint; readonly hash: Uint8Array },
  { header, difficulty }: { readonly header: Uint8Array; readonly difficulty: number },
): true | string {
  const { hashMatches, difficultyMet, hash: right } = verify(header, { nonce: index, hash: claimed }, difficulty);
  if (!hashMatches) return `with a hash that should be ${toHex(right)}`;
  return difficultyMet || `but its hash has ${zeroBits(right)} leading zero bits, not ${difficulty}`;
}

/** Eight words: key and first state of a chain's scratchpad, and the initial state of its rounds. */
export function seedOf(header: Uint8Array, nonce: bigint, chain: number): Uint32Array {
  const message = new Uint8Array(header.length + 8);
  message.set(header);
  writeLe64(message, header.length, nonce ^ BigInt.asUintN(64, BigInt(chain) * PHI));
  return wordsOf(blake3(message));
}

/** The scratchpad of a seed: each block is two states of a chain of AES rounds, twice. */
export function fillPad(seed: Uint32Array): Uint32Array {
  const pad = new Uint32Array(PAD_WORDS);
  const state = seed.slice(4);
  const next = new Uint32Array(4);
  for (let block = 0; block < PAD_BLOCKS; block++) {
    fourRounds(state, seed);
    next.set(state);
    fourRounds(next, seed);
    const at = block * 16;
    for (let i = 0; i < 4; i++) {
      const [one, other] = [state[i] ?? 0, next[i] ?? 0];
      pad[at + i] = one;
      pad[at + i + 4] = other;
      pad[at + i + 8] = one;
      pad[at + i + 12] = other;
    }
  }
  return pad;
}

/** Runs the rounds of a chain over its pad; `after` receives the state after each round, for tests. */
export function mixPad(
  seed: Uint32Array,
  pad: Uint32Array,
  firstPhase: number,
  after: (round: number, block: number, state: Uint32Array) => void = () => undefined,
): Uint32Array {
  const state = seed.slice();
  const working = new Uint32Array(16);
  for (let round = 0; round < ROUNDS; round++) {
    const block = blockOf(state, round);
    const at = block * 16;
    switch ((firstPhase + round + 1) % 3) {
      case 0:
        for (let quarter = 0; quarter < 4; quarter++) {
          aesRound(state, 0, pad, at + 4 * quarter);
          aesRound(state, 4, pad, at + 4 * ((quarter + 2) % 4));
        }
        break;
      case 1:
        sha256Compress(state, pad, at);
        break;
      default:
        for (let i = 0; i < 8; i++) {
          working[i] = state[i] ?? 0;
          working[i + 8] = BLAKE3_IV[i] ?? 0;
        }
        blake3Rounds(working, pad, at);
        for (let i = 0; i < 8; i++) state[i] = (working[i] ?? 0) ^ (working[i + 8] ?? 0);
    }
    for (let i = 0; i < 8; i++) pad[at + i] = state[i] ?? 0;
    after(round, block, state);
  }
  return state;
}

/** The phase of a chain: its first round does the compression after this one. */
export const phaseOf = (nonce: bigint, chain: number): number => Number(BigInt.asUintN(64, nonce + BigInt(chain)) % 3n);

const CHAINS = 4;
const PAD_BLOCKS = 8192;
const PAD_WORDS = PAD_BLOCKS * 16;
const ROUNDS = 12_288;
const PHI = 0x9e3779b97f4a7c15n;
/** The low 13 bits of 0x517cc1b727220a95. */
const LOW_MIX = 0x0a95;

function runChain(seed: Uint32Array, nonce: bigint, chain: number): Uint32Array {
  return mixPad(seed, fillPad(seed), phaseOf(nonce, chain));
}

function fourRounds(state: Uint32Array, key: Uint32Array): void {
  for (let i = 0; i < 4; i++) aesRound(state, 0, key, 0);
}

/**
 * a = LE64(state, 0) ^ LE64(state, 8) ^ rotl64(round, 13) ^ round·MIX, modulo 8192: of each term the low 13 bits, and
 * those of the rotation are zero for every round below 2^51.
 */
function blockOf(state: Uint32Array, round: number): number {
  return ((state[0] ?? 0) ^ (state[2] ?? 0) ^ (round * LOW_MIX)) & 0x1fff;
}

function readLe64(bytes: Uint8Array, at: number): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(at, true);
}

function writeLe64(bytes: Uint8Array, at: number, value: bigint): void {
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).setBigUint64(at, value, true);
}
