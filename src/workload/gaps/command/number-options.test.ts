import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { intervalsOf, parseChineseSet } from '../job/chinese-set.js';
import { type NumberOptions, searchSpecOf } from './number-options.js';

const start = 2n ** 280n;
const [genesis] = JSON.parse(
  readFileSync(new URL('../../../../test/data/gaps/blocks.json', import.meta.url), 'utf8'),
) as {
  header84_hex: string;
  start: string;
  adder: string;
  shift: number;
}[];
const header = genesis!.header84_hex;

/** The start of a search, and its first and last offset. */
function rangeOf(given: NumberOptions, step?: bigint): [bigint, bigint, bigint] {
  const { start: from, skipped, length } = searchSpecOf(given, step);
  return [from, skipped, length - 1n];
}

describe('a range', () => {
  test('is 2^shift integers long, or has the given length', () => {
    expect(rangeOf({ start })).toEqual([start, 0n, 2n ** 32n - 1n]);
    expect(rangeOf({ start, shift: 37 })).toEqual([start, 0n, 2n ** 37n - 1n]);
    expect(rangeOf({ start, shift: 37, length: 1000n })).toEqual([start, 0n, 999n]);
  });

  test('counts its length from the offset', () => {
    expect(rangeOf({ start, offset: 5000n, length: 10n })).toEqual([start, 5000n, 5009n]);
    expect(rangeOf({ start, offset: 5000n, shift: 20 })).toEqual([start, 5000n, 2n ** 20n - 1n]);
    // Past 2^shift: a length needs no shift.
    expect(rangeOf({ start, offset: 2n ** 40n, length: 10n })).toEqual([start, 2n ** 40n, 2n ** 40n + 9n]);
  });

  test('of a header lies within its 2^shift numbers', () => {
    const first = BigInt(genesis!.start) - BigInt(genesis!.adder);
    expect(rangeOf({ header, shift: 20 })).toEqual([first, 0n, 2n ** 20n - 1n]);
    expect(rangeOf({ header, shift: 20, offset: 900_000n })).toEqual([first, 900_000n, 2n ** 20n - 1n]);
    expect(rangeOf({ header, shift: 20, offset: 900_000n, length: 148_576n })).toEqual([
      first,
      900_000n,
      2n ** 20n - 1n,
    ]);
    expect(rangeOf({ header, shift: 20, offset: 900_000n, length: 100n })).toEqual([first, 900_000n, 900_099n]);
    expect(rangeOf({ header, offset: 900_000n })).toEqual([first << 12n, 900_000n, 2n ** 32n - 1n]);
  });

  test('of a set skips intervals', () => {
    const set = parseChineseSet('|== ChineseSet ==|\nn_primes: 9\nsize: 700\nn_candidates: 200\noffset: 20000000\n');
    const step = set.primorial;
    expect(rangeOf({ start, offset: 3n, length: 10n * step }, step)).toEqual([start, 3n * step, 13n * step - 1n]);
    // The number of intervals does not depend on the offset.
    const counts = [0n, 1n, 3n, 1000n].map((offset) => {
      const wanted = searchSpecOf({ start, offset, length: 10n * step }, step);
      return intervalsOf(set, wanted, 300, offset).count - offset;
    });
    expect(new Set(counts)).toEqual(new Set([counts[0]]));
    expect(counts[0]).toBeGreaterThanOrEqual(9n);
    expect(() => intervalsOf(set, { start, length: 5n * step }, 300, 5n)).toThrow(/the range has only 4 intervals/);
  });
});

test.each<[string, NumberOptions, RegExp]>([
  ['a missing start', { length: 10n }, /neither --start nor --header is given/],
  ['a start and a header', { start, header }, /both --start and --header are given/],
  ['a length of 0', { start, length: 0n }, /--length is 0/],
  ['a length of 0 of a header', { header, offset: 5n, length: 0n }, /--length is 0/],
  [
    'an offset that skips everything',
    { start, offset: 2n ** 32n },
    /--offset 4294967296 skips all of the 2\^32 numbers/,
  ],
  ['an offset past a shift', { header, shift: 20, offset: 2n ** 20n }, /--offset 1048576 skips all of the 2\^20/],
  ['the same with a length', { header, shift: 20, offset: 2n ** 21n, length: 1n }, /--offset 2097152 skips all/],
  [
    'a length past the end of a header',
    { header, shift: 20, offset: 900_000n, length: 200_000n },
    /--length 200000 passes the end of the header's 2\^20 numbers\n {2}advice: give a --length of at most 148576, /,
  ],
  [
    'the same without an offset',
    { header, shift: 20, length: 2n ** 40n },
    /passes the end of the header's 2\^20 numbers/,
  ],
  [
    'a shift below the minimum',
    { header: `${header}0d00`, length: 1n },
    /shift out of range: expected 14 to 1024, got 13/,
  ],
  ['offsets of more than 128 bits', { header, shift: 200 }, /more than 2\^199 numbers after its start/],
  ['numbers of more than 1,280 bits', { start: 2n ** 1280n - 1000n, length: 1000n }, /the last numbers have 1281 bits/],
  ['two bounds', { start, minMerit: 20, minGap: 500 }, /more than one bound/],
])('%s is rejected', (_, given, message) => {
  expect(() => searchSpecOf(given)).toThrow(message);
});
