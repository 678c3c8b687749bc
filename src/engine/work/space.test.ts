import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MillraceError } from '../../kernel/error.js';
import { between, endOf, firstPiece, launchBase, MAX_INDICES, type Range, shareOf, spaceOf } from './space.js';

/** Indices where something has gone wrong before: one word, doubles, signed and unsigned 64 bits, the end. */
const edges = [0n, 1n << 31n, 1n << 32n, 1n << 53n, 1n << 63n, 1n << 64n, 1n << 96n, (1n << 128n) - (1n << 34n)];

test('a space has 1 to 2^128 indices', () => {
  expect(spaceOf(1n)).toEqual({ start: 0n, length: 1n });
  expect(endOf(spaceOf(1n << 128n))).toBe(MAX_INDICES);
  for (const size of [0n, -1n, (1n << 128n) + 1n]) {
    expect(() => spaceOf(size)).toThrow(MillraceError);
    expect(() => spaceOf(size)).toThrow(`asked:  a space of ${size} indices`);
  }
});

/** All pieces of a range in order. */
function* piecesOf(range: Range, maxItems = 2 ** 32) {
  const end = endOf(range);
  for (let start = range.start; start < end; ) {
    const piece = firstPiece(between(start, end), maxItems);
    yield piece;
    start += BigInt(piece.count);
  }
}

describe('pieces', () => {
  test('tile a range around every edge: in order, at most 2^32 items, none across a multiple of 2^32', () => {
    const range = fc
      .tuple(fc.constantFrom(...edges), fc.bigInt(-(1n << 33n), 1n << 33n), fc.bigInt(1n, 1n << 35n))
      .map(([edge, offset, length]) => ({ start: edge + offset < 0n ? -offset : edge + offset, length }));
    const maxCount = fc.oneof(fc.constant(2 ** 32), fc.integer({ min: 2 ** 28, max: 2 ** 32 - 1 }));
    fc.assert(
      fc.property(range, maxCount, (whole, size) => {
        let next = whole.start;
        for (const { start, count } of piecesOf(whole, size)) {
          expect(start).toBe(next);
          expect(count >= 1 && count <= size && Number.isSafeInteger(count)).toBe(true);
          const last = start + BigInt(count) - 1n;
          expect(last >> 32n).toBe(start >> 32n);
          next = last + 1n;
        }
        expect(next).toBe(endOf(whole));
      }),
    );
  });

  test('hold up to 2^32 indices; one more index needs another piece', () => {
    const start = 5n << 32n;
    expect([...piecesOf({ start, length: (1n << 32n) + 1n })]).toEqual([
      { start, count: 2 ** 32 },
      { start: 6n << 32n, count: 1 },
    ]);
    expect(firstPiece({ start: (1n << 53n) + 1n, length: 1n << 100n }, 1000)).toEqual({
      start: (1n << 53n) + 1n,
      count: 1000,
    });
  });

  test('split their start into a 64-bit base and the bits above it', () => {
    for (const edge of edges) {
      for (const start of [edge, edge + 12_345n]) {
        const { base, high } = launchBase({ start, count: 1 });
        expect(base < 1n << 64n).toBe(true);
        expect((high << 64n) + base).toBe(start);
      }
    }
  });
});

test('shares are accurate where doubles would not be', () => {
  expect(shareOf(1n << 127n, 1n << 128n)).toBe(0.5);
  expect(shareOf((1n << 128n) - 1n, 1n << 128n)).toBeLessThan(1);
  expect(shareOf(0n, 0n)).toBe(1);
  expect(between(3n, 7n)).toEqual({ start: 3n, length: 4n });
});
