import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { binCounts, binOf, binStart, binsFor } from './bins.js';
import { Intervals } from './intervals.js';
import { between, type Range } from './space.js';

/** Spaces of all sizes, and ranges that may reach beyond them. */
const cases = fc
  .record({
    start: fc.bigInt(0n, 1n << 64n),
    length: fc.oneof(fc.bigInt(1n, 300n), fc.bigInt(1n, 1n << 20n), fc.bigInt(1n, (1n << 128n) - (1n << 64n))),
    wanted: fc.integer({ min: 1, max: 300 }),
  })
  .chain(({ start, length, wanted }) => {
    const index = fc.bigInt(start, start + length + 5n);
    const range = fc.tuple(index, index).map(([a, b]) => (a < b ? between(a, b) : between(b, a)));
    return fc.record({
      space: fc.constant<Range>({ start, length }),
      bins: fc.constant(binsFor({ start, length }, wanted)),
      ranges: fc.array(range, { maxLength: 12 }),
    });
  });

describe('bins', () => {
  test('hold exactly the indices of the ranges, for spaces up to 2^128', () => {
    fc.assert(
      fc.property(cases, ({ space, bins, ranges }) => {
        const set = Intervals.of(ranges.filter(({ length }) => length > 0n));
        const counts = binCounts(set, space, bins);
        const parts = Array.from({ length: bins }, (_, at) =>
          between(binStart(space, bins, at), binStart(space, bins, at + 1)),
        );
        expect(counts).toEqual(parts.map((part) => set.within(part).total));
        expect(counts.reduce((sum, one) => sum + one, 0n)).toBe(set.within(space).total);
        for (const [at, { start, length }] of parts.entries()) {
          expect([binOf(space, bins, start), binOf(space, bins, start + length - 1n)]).toEqual([at, at]);
        }
      }),
      { numRuns: byTier(30, 1000, 100_000) },
    );
  });

  test('of 2^100 show one index', () => {
    const space = { start: 0n, length: 1n << 100n };
    const counts = binCounts([{ start: 3n << 98n, length: 1n }], space, 4);
    expect(counts).toEqual([0n, 0n, 0n, 1n]);
  });
});
