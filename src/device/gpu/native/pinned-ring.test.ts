import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { addressOf, copyBytes } from '../../native/libc.js';
import { PinnedRing, RING_BYTES } from './pinned-ring.js';

/** A device that runs its copies and events in order when `step` is called. */
class SlowDevice {
  readonly #memory = new Uint8Array(RING_BYTES);
  readonly address = addressOf(this.#memory);
  readonly #queue: (() => void)[] = [];
  #passed = 0;
  #sent = 0;
  readonly staging: PinnedRing<{ readonly address: number }>;

  constructor() {
    const ring = new Uint8Array(RING_BYTES);
    const at = addressOf(ring);
    this.staging = new PinnedRing({
      alloc: () => ({ bytes: ring, address: at }), // keeps `ring` alive
      queue: {
        write: (memory, offset, from, bytes) => this.#queue.push(() => copyBytes(memory + offset, from, bytes)),
        read: (memory, offset, into, bytes) => this.#queue.push(() => copyBytes(into, memory + offset, bytes)),
      },
      record: () => {
        const event = ++this.#sent;
        this.#queue.push(() => {
          this.#passed = event;
        });
        return event;
      },
      passed: (event) => event <= this.#passed,
    });
  }

  step(count: number): void {
    for (const action of this.#queue.splice(0, count)) action();
  }

  get idle(): boolean {
    return this.#queue.length === 0;
  }
}

/** Without a period, so that no two ranges are equal. */
const noise = randomBytes(6_000_100);

test('reads return the bytes written, for any size and any speed of the device', () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 6_000_000 }));
  fc.assert(
    fc.property(fc.array(fc.tuple(size, fc.integer({ min: 0, max: 6 })), { minLength: 1, maxLength: 12 }), (moves) => {
      const device = new SlowDevice();
      const { staging } = device;
      const sent = (command: () => boolean, pace: number): void => {
        while (!command()) device.step(pace + 1);
      };
      const pairs = moves.map(([bytes, pace], k) => {
        const from = noise.slice(k, k + bytes);
        const into = new Uint8Array(bytes);
        sent(() => staging.write(device.address, 0, addressOf(from), bytes), pace);
        device.step(pace);
        sent(() => staging.read(device.address, 0, addressOf(into), bytes), pace);
        return { from, into };
      });
      expect(staging.isPartlyDone).toBe(false);
      while (!device.idle) device.step(3);
      staging.settle();
      expect(staging.hasPending).toBe(false);
      for (const { from, into } of pairs) expect(Buffer.compare(from, into)).toBe(0);
    }),
    { numRuns: byTier(4, 10) },
  );
});

test('reports whether a read into memory is pending', () => {
  const device = new SlowDevice();
  const into = new Uint8Array(100);
  const at = addressOf(into);
  expect(device.staging.read(device.address, 0, at, 100)).toBe(true);
  expect(device.staging.isReadingInto(at + 99, 1)).toBe(true);
  expect(device.staging.isReadingInto(at + 100, 10)).toBe(false);
  expect(device.staging.isReadingInto(at - 10, 10)).toBe(false);
  device.step(2);
  device.staging.settle();
  expect(device.staging.isReadingInto(at, 100)).toBe(false);
});

test('copies half a millisecond’s worth at a time', () => {
  const device = new SlowDevice();
  const bytes = 9 * 2 ** 20;
  const from = new Uint8Array(bytes);
  const write = (): boolean => device.staging.write(device.address, 0, addressOf(from), bytes);
  expect([write(), device.staging.resumeMs]).toEqual([false, 0]);
  expect([write(), device.staging.resumeMs]).toEqual([false, 0]);
  expect([write(), device.staging.resumeMs]).toEqual([true, undefined]);
});
