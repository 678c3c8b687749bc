import fc from 'fast-check';
import { snappyCompress } from 'hyparquet-writer/src/snappy.js';
import { expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { EventLoopTurns } from './event-loop-turns.js';
import { snappy } from './snappy.js';

const turns = new EventLoopTurns();
const unpack = async (bytes: readonly number[], size: number): Promise<number[]> => [
  ...(await snappy(Uint8Array.from(bytes), size, { allocate: (count) => new Uint8Array(count), turns })),
];

test('decodes literals and copies of all three kinds', async () => {
  const abc = [97, 98, 99];
  expect(await unpack([3, 2 << 2, ...abc], 3)).toEqual(abc);
  // A copy of 4 bytes from 3 back overlaps itself; then 5 from 2 back, with the distance in two bytes and in four.
  expect(await unpack([7, 2 << 2, ...abc, 0b000_000_01, 3], 7)).toEqual([...abc, ...abc, 97]);
  expect(await unpack([8, 2 << 2, ...abc, (4 << 2) | 2, 2, 0], 8)).toEqual([...abc, 98, 99, 98, 99, 98]);
  expect(await unpack([8, 2 << 2, ...abc, (4 << 2) | 3, 2, 0, 0, 0], 8)).toEqual([...abc, 98, 99, 98, 99, 98]);
  // Lengths in one and in two bytes after the tag.
  const long = Array.from({ length: 300 }, (_, i) => i % 251);
  expect(await unpack([100, 60 << 2, 99, ...long.slice(0, 100)], 100)).toEqual(long.slice(0, 100));
  expect(await unpack([0xac, 2, 61 << 2, 43, 1, ...long], 300)).toEqual(long);
  // Distances above 255 have three more bits in the tag.
  expect(await unpack([0xb0, 2, 61 << 2, 43, 1, ...long, 0b001_000_01, 44], 304)).toEqual([
    ...long,
    ...long.slice(0, 4),
  ]);
});

test('rejects invalid data, and allocates no memory for a false size', async () => {
  const refused = (bytes: readonly number[], size: number) =>
    expect(
      snappy(Uint8Array.from(bytes), size, {
        turns,
        allocate: (count) => {
          expect(count).toBeLessThan(1000);
          return new Uint8Array(count);
        },
      }),
    ).rejects.toThrow(/Snappy/);
  await refused([], 3);
  await refused([3], 3);
  await refused([3, 2 << 2, 97], 3);
  await refused([3, 3 << 2, 97, 98, 99, 100], 3);
  await refused([4, 2 << 2, 97, 98, 99], 4);
  await refused([8, 2 << 2, 97, 98, 99, (4 << 2) | 2, 4, 0], 8);
  await refused([8, 2 << 2, 97, 98, 99, (4 << 2) | 2, 0, 0], 8);
  await refused([8, 2 << 2, 97, 98, 99, (4 << 2) | 2, 2], 8);
  await refused([3, 2 << 2, 97, 98, 99], 4);
  await refused([0xff, 0xff, 0xff, 0xff, 7, 2 << 2, 97, 98, 99], 2 ** 31 - 1);
  await refused([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 3);
});

test('decodes the output of a writer', async () => {
  const alike = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3000 });
  const any = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(fc.oneof(alike, any), async (bytes) => {
      expect(await unpack([...snappyCompress(Uint8Array.from(bytes))], bytes.length)).toEqual(bytes);
    }),
    { numRuns: byTier(20, 100) },
  );
});
