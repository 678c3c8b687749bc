import { expect, test } from 'vitest';
import type { DeviceProgram } from '../../device/device.js';
import { Overflow } from './flow.js';
import { hitsIn } from './ring.js';

const program = {
  name: 'sample',
  device: { info: { id: 'fake' } },
  hit: [
    { name: 'big', type: 'u64', length: 1, array: false },
    { name: 'signs', type: 'i32', length: 2, array: true },
  ],
  ring: { headerWords: 4, recordWords: 5 },
} as unknown as DeviceProgram;
const record = (item: number, low: number, high: number, a: number, b: number): number[] => [item, low, high, a, b];
const ringOf = (count: number, ...records: number[][]): Uint32Array =>
  Uint32Array.from([count, 0, 0, 0, ...records.flat()]);

test('hits are sorted by index, then by their words, whatever order they were stored in', () => {
  const piece = { start: 2n ** 90n, count: 10 };
  const stored = [record(9, 1, 0, 0, 0), record(2, 5, 1, -1, 7), record(2, 4, 9, 0, 0)];
  const hits = hitsIn(piece, { words: ringOf(3, ...stored), program, hits: 8 });
  expect(hits).toEqual([
    { index: 2n ** 90n + 2n, big: 4n + 9n * 2n ** 32n, signs: [0, 0] },
    { index: 2n ** 90n + 2n, big: 5n + 2n ** 32n, signs: [-1, 7] },
    { index: 2n ** 90n + 9n, big: 1n, signs: [0, 0] },
  ]);
  expect(hitsIn(piece, { words: ringOf(3, ...stored.toReversed()), program, hits: 8 })).toEqual(hits);
});

test('an empty ring, an overflow, and an item out of range', () => {
  const piece = { start: 0n, count: 10 };
  expect(hitsIn(piece, { words: ringOf(0), program, hits: 2 })).toEqual([]);
  expect(hitsIn(piece, { words: ringOf(2 ** 32 - 1), program, hits: 2 })).toEqual(new Overflow(2 ** 32 - 1, 2));
  const outside = { words: ringOf(1, record(10, 0, 0, 0, 0)), program, hits: 2 };
  expect(() => hitsIn(piece, outside)).toThrow('fake reported item 10 of a launch of 10 items');
});
