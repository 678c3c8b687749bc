import { describe, expect, test } from 'vitest';
import { listLine } from '../command/report.js';
import { countsIn, windowAt, windowsOf } from '../job/sieve-stage.js';
import { verifierTasks } from '../job/verifier-tasks.js';
import { expectedPerMs, primeTable, windowsPerPiece } from './plan.js';
import { firstPrimes } from './prime-table.js';
import { isProbablePrime, nextPrime, previousPrime } from './reference-primes.js';
import { MAX_DEPTH, TALLY_WORDS, TallyIndex } from './sieve-kernels.js';

describe('windows of a piece', () => {
  test('are limited by the room in the queue, in steps', () => {
    const steps = (depth: number) => [0, 14, 15, 34, 35, 59, 60, 100].map((fill) => windowsPerPiece(fill, 100, depth));
    expect(steps(4)).toEqual([4, 4, 3, 3, 2, 2, 1, 1]);
    expect(steps(1)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    expect(steps(16)).toEqual([16, 16, 12, 12, 8, 8, 1, 1]);
    for (let queued = 0; queued <= 6; queued++) {
      const windows = windowsPerPiece(queued, 6, 4);
      expect(windows).toBeGreaterThanOrEqual(1);
      expect(windows).toBeLessThanOrEqual(4);
    }
  });

  test('the expected speed falls with the third power of the bits, from 288 on', () => {
    expect([64, 288, 576, 1152].map((bits) => expectedPerMs({ perMs: 6400 }, bits))).toEqual([6400, 6400, 800, 100]);
  });

  test('are found by position, at every edge', () => {
    const starts = [0, 5, 5, 12, 13]; // the second is empty
    const expected = [0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 3];
    expect(expected.map((_, place) => windowAt(starts, place))).toEqual(expected);
    for (const outside of [-1, 13, 14, 2 ** 31]) expect(windowAt(starts, outside)).toBe(4);
    expect(windowAt([0], 0)).toBe(0);
    const many = Array.from({ length: MAX_DEPTH + 1 }, (_, w) => w * 1000);
    for (let w = 0; w < MAX_DEPTH; w++)
      expect([windowAt(many, w * 1000), windowAt(many, w * 1000 + 999)]).toEqual([w, w]);
  });

  test('cover a piece once, the last one also what its last prime needs', () => {
    for (const [first, count] of [
      [0n, 1000],
      [1n, 999],
      [7n, 1],
      [2n ** 32n - 5n, 1001],
    ] as const) {
      const { base, owned, windows } = windowsOf({ start: first, count }, 10n ** 20n + 3n, 150, 20);
      expect(base % 2n).toBe(0n);
      const numbers = Array.from({ length: owned }, (_, place) => base + BigInt(2 * place + 1));
      const from = 10n ** 20n + 3n + first;
      expect(numbers.filter((n) => n >= from)).toEqual(
        Array.from({ length: count }, (_, i) => from + BigInt(i)).filter((n) => n % 2n === 1n),
      );
      expect(windows.reduce((sum, { bits }) => sum + bits, 0)).toBe(owned + 20);
      expect(windows.every(({ from: at }, w) => at === 150 * w)).toBe(true);
    }
  });

  test('have their candidates counted', () => {
    const tally = new Uint32Array(TALLY_WORDS);
    tally.set([10, 10, 35], TallyIndex.windows);
    expect(countsIn(tally, 3)).toEqual([10, 0, 25]);
  });
});

describe('verification tasks', () => {
  test('plant known gaps, from odd and even starts', () => {
    for (const start of [2n ** 64n, 0xd5ca_da15_b5b6_6983n, 3n ** 180n]) {
      const numbers = { start, length: 1n << 40n, minGap: 10_000, primes: 3000 };
      const { count, minGap, hits } = verifierTasks.plantGaps(numbers, 2 ** 20);
      const expected: bigint[] = [];
      for (let p = nextPrime(start - 1n); p < start + BigInt(count); p = nextPrime(p))
        if (nextPrime(p) - p >= BigInt(minGap)) expected.push(p - start);
      expect(hits).toEqual(expected);
      expect(hits.length).toBeGreaterThan(1);
    }
  });

  test('use no more numbers than exist, and no longer gaps than are searched for', () => {
    const few = verifierTasks.plantGaps({ start: 2n ** 64n, length: 50n, minGap: 4, primes: 100 }, 2 ** 20);
    expect(few).toMatchObject({ count: 50, minGap: 4 });
  });

  test('count composites that pass as a device does: unless a prime of the table divides them', () => {
    const pseudoprime = 2047n; // 23 · 89
    const near = { start: pseudoprime - 1n, length: 3n, minGap: 2 };
    expect(verifierTasks.plantGaps({ ...near, primes: 24 }, 3).hits).toEqual([]);
    expect(verifierTasks.plantGaps({ ...near, primes: 8 }, 3).hits).toEqual([1n]);
    expect(firstPrimes(9).at(-1)).toBe(23);
  });

  test('plant intervals without a prime', () => {
    const intervals = { first: 10n ** 30n, step: 30_030n, count: 1000n, length: 400 };
    const isEmpty = (k: number) =>
      nextPrime(intervals.first + BigInt(k) * 30_030n) > intervals.first + BigInt(k) * 30_030n + 60n;
    const expected = Array.from({ length: 30 }, (_, k) => k).filter(isEmpty);
    expect(verifierTasks.plantIntervals(intervals, 6542, 60, 30)).toEqual(expected.map(BigInt));
  });
});

test('gapAt and primesAround decide on a gap', () => {
  const record = 1425172824437699411n;
  expect(verifierTasks.gapAt(record)).toEqual({ passes: true, isPrime: true, end: record + 1476n });
  expect(verifierTasks.gapAt(record + 2n)).toMatchObject({ passes: false });
  expect(verifierTasks.gapAt(341n)).toEqual({ passes: true, isPrime: false, end: 347n });
  expect(verifierTasks.primesAround(record + 701n)).toEqual({ start: record, end: record + 1476n });
  expect(isProbablePrime(previousPrime(record)!)).toBe(true);
});

test('listLine writes the columns of the gap lists', () => {
  const line = listLine({ start: 1425172824437699411n, end: 1425172824437700887n }, 'Me', new Date('2026-11-15'));
  expect(line).toBe('     1476  C?P Me       2026  35.3103      19 1425172824437699411');
  const columns = [[0, 9], [11, 14], [15, 23], [24, 28], [29, 37], [38, 45], [46]] as const;
  expect(columns.map(([from, to]) => line.slice(from, to).trim())).toEqual([
    '1476',
    'C?P',
    'Me',
    '2026',
    '35.3103',
    '19',
    '1425172824437699411',
  ]);
});

test('rejects an invalid number of sieve primes', () => {
  for (const count of [0, 1.5, 2 ** 40]) expect(() => primeTable(count, 2 ** 17)).toThrow(`${count}`);
});
