import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { byTier, isLong } from '../../../../test/tier.js';
import { firstPrimes } from './prime-table.js';
import {
  bitsOf,
  difficulty,
  difficultyOf,
  hashOf,
  headerBytes,
  isValid,
  log2,
  merit,
  minGapForTarget,
  networkHeader,
  nextDifficulty,
  parseHeader,
  rand,
  startOf,
  submission,
  targetSize,
  targetWork,
  withUsableNonce,
} from './reference.js';
import {
  isProbablePrime,
  isStrongLucasProbablePrime,
  isStrongProbablePrime,
  nextPrime,
  passesFermat,
  power,
  previousPrime,
} from './reference-primes.js';
import { ReferenceSieve, startsOf } from './reference-sieve.js';

const data = (name: string) => readFileSync(new URL(`../../../../test/data/gaps/${name}`, import.meta.url), 'utf8');
const rowsOf = (name: string) =>
  data(name)
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));

interface Block {
  readonly name: string;
  readonly header84_hex: string;
  readonly hash_display: string;
  readonly shift: number;
  readonly adder: string;
  readonly submit_hex: string;
  readonly network_header_hex: string;
  readonly getwork_data_hex: string;
  readonly ndifficulty: string;
  readonly start: string;
  readonly gap: number;
  readonly merit_fixed: string;
  readonly log2_fixed64: string;
  readonly rand64: string;
  readonly difficulty_fixed: string;
  readonly meets_target: boolean;
}
const blocks = JSON.parse(data('blocks.json')) as Block[];

describe('blocks of the chain', () => {
  // One of 276 bits, of 288 and of 766.
  test.each(byTier([blocks[0]!, blocks[3]!, blocks[5]!], blocks))('$name', (block) => {
    const header = parseHeader(block.submit_hex);
    expect(header).toMatchObject({ shift: block.shift, adder: BigInt(block.adder) });
    expect(header.difficulty).toBe(BigInt(block.ndifficulty));
    expect(Buffer.from(headerBytes(header)).toString('hex')).toBe(block.header84_hex);
    expect(submission(header)).toBe(block.submit_hex);
    expect(networkHeader(header)).toBe(block.network_header_hex);
    const hash = hashOf(header);
    expect(hash.toString(16)).toBe(block.hash_display);
    expect(withUsableNonce(header).nonce).toBe(header.nonce);
    const work = { hash, shift: header.shift, adder: header.adder };
    const start = startOf(work)!;
    expect(start).toBe(BigInt(block.start));
    // The end of the gap is searched for; with 766 bits that takes seconds, so there it is only tested.
    const isSearched = block.shift <= 100 || isLong;
    const end = isSearched ? nextPrime(start) : start + BigInt(block.gap);
    expect(end - start).toBe(BigInt(block.gap));
    expect(isProbablePrime(start) && isProbablePrime(end)).toBe(true);
    expect(log2(start, 64)).toBe(BigInt(block.log2_fixed64));
    expect(merit(start, end)).toBe(BigInt(block.merit_fixed));
    expect(rand(start, end)).toBe(BigInt(block.rand64));
    const expected = BigInt(block.difficulty_fixed);
    expect(difficulty(start, end)).toBe(expected);
    expect(expected >= BigInt(block.ndifficulty)).toBe(block.meets_target);
    if (!isSearched) return;
    expect(difficultyOf(work)).toBe(expected);
    expect(isValid(work, expected + 1n)).toBe(false);
  });

  test('a header without its nonce is valid', () => {
    const header = parseHeader(blocks[3]!.getwork_data_hex);
    expect(header).toMatchObject({ nonce: 0, shift: 0, adder: 0n });
    expect(() => parseHeader('00'.repeat(79))).toThrow(/80 bytes/);
    expect(() => parseHeader('zz'.repeat(80))).toThrow(/not a block header/);
  });

  test('invalid proofs of work have difficulty 0', () => {
    const cases = JSON.parse(data('pow_negative.json')) as {
      case: string;
      hash: string;
      shift: number;
      adder: string;
    }[];
    expect(cases).toHaveLength(6);
    for (const { case: name, hash, shift, adder } of cases)
      expect(difficultyOf({ hash: BigInt(`0x${hash}`), shift, adder: BigInt(adder) }), name).toBe(0n);
  });
});

describe('fixed point', () => {
  const vectors = JSON.parse(data('fixed_point.json')) as {
    log2: { n: string; log2_acc64: string; log2_acc112: string | null }[];
    target_size: { start_prime_base: string; difficulty_fixed: string; target_size: number; min_len: number }[];
    next_difficulty: { difficulty: string; actual_timespan: number; testnet: boolean; next: string }[];
  };
  test('logarithms', () => {
    for (const { n, log2_acc64, log2_acc112 } of vectors.log2) {
      expect(log2(BigInt(n), 64)).toBe(BigInt(log2_acc64));
      if (log2_acc112 !== null) expect(log2(BigInt(n), 112)).toBe(BigInt(log2_acc112));
    }
  });
  test('lengths of gaps', () => {
    for (const row of vectors.target_size) {
      const [start, target] = [BigInt(row.start_prime_base), BigInt(row.difficulty_fixed)];
      expect(targetSize(start, target)).toBe(BigInt(row.target_size));
      expect(minGapForTarget(start, target)).toBe(row.min_len);
    }
  });
  test('retargets', () => {
    for (const { difficulty: last, actual_timespan, testnet, next } of vectors.next_difficulty)
      expect(nextDifficulty(BigInt(last), actual_timespan, testnet)).toBe(BigInt(next));
  });
  test('the work of a block matches the chain', () => expect(targetWork(6246030363594873n)).toBe(4336604523n));
});

describe('known gaps', () => {
  test('maximal ones', () => {
    const rows = rowsOf('maximal_gaps.csv');
    expect(rows).toHaveLength(82);
    for (const [gap, start] of rows) {
      const p = BigInt(start!);
      expect(nextPrime(p) - p).toBe(BigInt(gap!));
      expect(previousPrime(p + BigInt(gap!))).toBe(p);
    }
  });

  test('768 of the main chain', { timeout: 600_000 }, () => {
    const rows = rowsOf('mainnet_merit30.csv');
    expect(rows).toHaveLength(768);
    for (const [at, [, shift, adder, start, gap, fixedMerit, fixed]] of rows.entries()) {
      const p = BigInt(start!);
      const q = p + BigInt(gap!);
      if (at % byTier(64, 4, 1) === 0) expect(isProbablePrime(p) && passesFermat(q)).toBe(true);
      // No prime lies between them; checking all rows takes two minutes.
      if (at % byTier(768, 96, 1) === 0) expect(nextPrime(p)).toBe(q);
      expect(bitsOf(p)).toBe(256 + Number(shift));
      expect(p & ((1n << BigInt(shift!)) - 1n)).toBe(BigInt(adder!));
      expect(merit(p, q)).toBe(BigInt(fixedMerit!));
      expect(difficulty(p, q)).toBe(BigInt(fixed!));
    }
  });

  test('records', { timeout: 600_000 }, () => {
    for (const [, gap, , start, fixed] of rowsOf('record_merits.csv')) {
      const p = BigInt(start!);
      expect(merit(p, p + BigInt(gap!))).toBe(BigInt(fixed!));
      // A test of 1,300 bits takes 60 times as long as one of 300.
      if (isLong || bitsOf(p) < 330) expect(nextPrime(p)).toBe(p + BigInt(gap!));
    }
  });
});

describe('primality', () => {
  const rows = JSON.parse(data('fermat.json')) as {
    n_hex: string;
    is_prime: boolean;
    fermat_base2_pass: boolean;
    residue_2_pow_n_minus_1_hex: string;
  }[];
  test('is right for numbers of the searched size, including pseudoprimes', () => {
    for (const row of rows) {
      const n = BigInt(row.n_hex);
      expect(isProbablePrime(n, 25)).toBe(row.is_prime);
      expect(passesFermat(n)).toBe(row.fermat_base2_pass);
      expect(power(2n, n - 1n, n)).toBe(BigInt(row.residue_2_pow_n_minus_1_hex));
    }
    expect(rows.filter((row) => row.fermat_base2_pass && !row.is_prime)).toHaveLength(4);
  });

  test('has known pseudoprimes in each half of the test, but none in both together', () => {
    const odd = Array.from({ length: 12_500 }, (_, i) => BigInt(2 * i + 3));
    const primes = new Set([...firstPrimes(2763)].map(BigInt));
    const liars = (passes: (n: bigint) => boolean) => odd.filter((n) => passes(n) && !primes.has(n));
    expect(liars((n) => isStrongProbablePrime(n, 2n)).slice(0, 5)).toEqual([2047n, 3277n, 4033n, 4681n, 8321n]);
    expect(liars(isStrongLucasProbablePrime)).toEqual([5459n, 5777n, 10877n, 16109n, 18971n, 22499n, 24569n]);
    expect(liars(passesFermat).slice(0, 4)).toEqual([341n, 561n, 645n, 1105n]);
    expect(liars((n) => isProbablePrime(n))).toEqual([]);
    expect(odd.filter((n) => isProbablePrime(n))).toHaveLength(odd.filter((n) => primes.has(n)).length);
    // Beyond trial division: two strong pseudoprimes to bases 2 to 31, and a square.
    for (const n of [3825123056546413051n, 318665857834031151167461n, 1000003n * 1000003n])
      expect(isProbablePrime(n)).toBe(false);
  });
});

describe("the miners' sieve", () => {
  const windows = JSON.parse(data('sieve_windows.json')) as {
    hash_display: string;
    shift: number;
    sieve_primes: number;
    largest_prime: number;
    sieve_size: number;
    starts_sha256_le_u32: string;
    rounds: { survivors: number; survivors_sha256_le_u32: string; next_starts_sha256_le_u32: string }[];
  }[];
  const digest = (words: Uint32Array) =>
    createHash('sha256')
      .update(Buffer.from(words.buffer, words.byteOffset, words.byteLength))
      .digest('hex');
  // The largest table takes three seconds.
  test.each(windows.slice(0, byTier(2, 3, 4)))(
    '$sieve_size integers, $sieve_primes primes',
    { timeout: 60_000 },
    (w) => {
      const primes = firstPrimes(w.sieve_primes);
      expect(primes.at(-1)).toBe(w.largest_prime);
      const start = BigInt(`0x${w.hash_display}`) << BigInt(w.shift);
      expect(digest(startsOf(start, primes))).toBe(w.starts_sha256_le_u32);
      const sieve = new ReferenceSieve(start, primes, w.sieve_size);
      for (const round of w.rounds) {
        const found = sieve.survivors();
        expect(found).toHaveLength(round.survivors);
        expect(digest(found)).toBe(round.survivors_sha256_le_u32);
        expect(digest(sieve.starts)).toBe(round.next_starts_sha256_le_u32);
      }
    },
  );
});
