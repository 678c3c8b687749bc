import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { addressOf } from '../../native/libc.js';
import { CopyThreads } from './copy-threads.js';
import { helperCounts, ParallelCopier } from './parallel-copier.js';

const threads = new CopyThreads(2);
const copier = new ParallelCopier(threads.memory);
afterAll(() => threads.stop());

const SIZE = 2 ** 20 + 77;
const from = randomBytes(SIZE);
const outside = new Uint8Array(SIZE + 200).fill(0xee);

/** Copies part of `from`, and checks every byte of the target. */
function copied(at: number, bytes: number, gap: number): void {
  const into = outside.slice(0, SIZE + 2 * gap);
  copier.copy(addressOf(into) + gap, addressOf(from) + at, bytes);
  const expected = outside.slice(0, SIZE + 2 * gap);
  expected.set(from.subarray(at, at + bytes), gap);
  expect(Buffer.compare(into, expected)).toBe(0);
}

const ranges = fc
  .tuple(fc.integer({ min: 0, max: SIZE - 1 }), fc.integer({ min: 1, max: SIZE }), fc.integer({ min: 0, max: 99 }))
  .map(([at, bytes, gap]) => [at, Math.min(bytes, SIZE - at), gap] as const);

test('the owner copies alone if there are no helpers', () => {
  fc.assert(
    fc.property(ranges, ([at, bytes, gap]) => copied(at, bytes, gap)),
    { numRuns: 5 },
  );
  expect(helperCounts(threads.memory)).toEqual({ helpers: 0, parts: 0 });
});

test('small transfers start no threads, a large one does, and together they copy every byte once', async () => {
  threads.expectCopy(1000);
  threads.expectCopy(2 ** 20);
  while (helperCounts(threads.memory).helpers < 2) await new Promise((resolve) => setImmediate(resolve));
  fc.assert(
    fc.property(ranges, ([at, bytes, gap]) => copied(at, bytes, gap)),
    { numRuns: 20 },
  );
  // On a busy machine it may take some copies before a helper gets its turn.
  while (helperCounts(threads.memory).parts === 0) copied(0, SIZE, 0);
  await threads.stop();
  expect(helperCounts(threads.memory).helpers).toBe(0);
  copied(1, SIZE - 1, 1);
});
