import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device, Stream } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { type Indexed, MemorySource, type Piece, search, VirtualDevice, virtualDevices } from '../src/engine/index.js';
import { Outbox } from '../src/engine/makers/outbox.js';
import { MillraceError } from '../src/kernel/error.js';
import { items, u32 } from '../src/kernel/index.js';
import { byTier } from './tier.js';

/** Values that are kept for a reader that is slow, has stopped, or has left. */
const everything = items('everything', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo }));
/** Expects the numbers from 0 to `count - 1`. `toEqual` would take seconds. */
function expectCounted(found: readonly number[], count: number): void {
  expect(found.findIndex((n, at) => n !== at)).toBe(-1);
  expect(found.length).toBe(count);
}
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let device: Device;
beforeAll(async () => {
  device = await openDevice('wasm');
});
afterAll(() => device?.close());

/** Takes chunks and answers none of them until it is lost. */
class SilentDevice extends VirtualDevice {
  lose: () => void = () => undefined;
  readonly #lost = new Promise<never>((_, reject) => {
    this.lose = () => reject(new MillraceError({ code: 'device-failed', message: 'it is gone' }));
  });

  override stream(): Stream {
    const stream = super.stream();
    const mark = stream.mark.bind(stream);
    return Object.assign(stream, { mark: () => ({ ...mark(), done: this.#lost }) });
  }
}

/** Resolves when `count` has not changed for ten ticks of the engine, or is above `max`. */
async function settled(count: () => number, max: number): Promise<void> {
  for (let still = 0, last = -1; still < 10 && count() <= max; still = count() === last ? still + 1 : 0) {
    last = count();
    await pause(50);
  }
}

describe('a search whose reader has stopped', () => {
  const ring = 512;
  const MAX_KEPT = 150_000;
  const READ = byTier(20_000, 100_000);

  // Most of their time is waiting.
  test.concurrent('starts no more chunks: all of 10^7 indices hit, and few hits are made', async () => {
    let made = 0;
    const verify = (): boolean => ++made > 0;
    const found: number[] = [];
    for await (const { n } of search(everything, { devices: device, space: 1e7, ring, verify })) {
      if (n === 0) await settled(() => made, MAX_KEPT);
      if (n === 0) expect(made).toBeLessThan(MAX_KEPT);
      found.push(n);
      if (found.length === READ) break;
    }
    expectCounted(found, READ);
  });

  test.concurrent('starts no more chunks while hits wait for a canary, and sends it', async () => {
    let made = 0;
    const verify = (): boolean => ++made > 0;
    // Due after 500 times its items: 2 million hits.
    const canary = { start: 0n, count: 4096, hits: Array.from({ length: 4096 }, (_, k) => BigInt(k)) };
    const options = { devices: device, space: 1e7, ring: 8192, verify, canaries: [canary] };
    for await (const { n } of search(everything, options)) {
      if (n === 0) await settled(() => made, 2 * MAX_KEPT);
      if (n === 0) expect(made).toBeLessThan(2 * MAX_KEPT);
      if (n === 2 * READ) break;
    }
  });

  test.concurrent('starts no more chunks while earlier ones are being stored', async () => {
    let storing = 0;
    let stored = (): void => undefined;
    const disk = new Promise<void>((resolve) => {
      stored = resolve;
    });
    class SlowSource extends MemorySource<readonly Indexed[]> {
      override commit(_piece?: Piece, hits: readonly Indexed[] = []): Promise<void> {
        storing += hits.length;
        return disk;
      }
    }
    const source = new SlowSource({ start: 0n, length: 10_000_000n });
    const hits = search(everything, { devices: device, space: 1e7, ring, source });
    const first = hits.first();
    await settled(() => storing, MAX_KEPT);
    expect(storing).toBeLessThan(MAX_KEPT);
    stored();
    expect(await first).toMatchObject({ n: 0 });
  });

  test('still does the chunk that all others wait for when its device is lost', async () => {
    const [fast] = virtualDevices(device, [{}]);
    const silent = new SilentDevice(device, 'virtual:1');
    let made = 0;
    const verify = (): boolean => ++made > 0;
    const options = { devices: [silent, fast!], space: 2 * MAX_KEPT, ring: 8192, verify, streams: 1, slots: 1 };
    const reading = (async () => {
      const found: number[] = [];
      for await (const { n } of search(everything, options)) found.push(n);
      return found;
    })();
    await settled(() => made, MAX_KEPT);
    expect(made).toBeGreaterThan(65_536);
    expect(made).toBeLessThan(MAX_KEPT); // 65,536 wait for the reader, and 64 chunks may be being checked
    silent.lose();
    expectCounted(await reading, 2 * MAX_KEPT);
  });
});

test('an outbox releases each value that was read, even if it is never empty', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const outbox = new Outbox<{ readonly n: number }>();
  const read: WeakRef<object>[] = [];
  outbox.put({ n: 0 });
  let next = 1;
  for await (const value of outbox) {
    read.push(new WeakRef(value));
    if (next > 5000) break;
    outbox.put({ n: next++ });
    outbox.put({ n: next++ });
  }
  await pause(0); // a WeakRef holds its target to the end of the turn in which it was made
  gc();
  expect(read.filter((one) => one.deref() !== undefined).length).toBeLessThan(10);
  expect(outbox.drain().map(({ n }) => n)).toEqual(
    Array.from({ length: next - read.length }, (_, k) => read.length + k),
  );
});

describe('a check that rejects later', () => {
  test('ends the search with its error, and the process continues', async () => {
    const unhandled: unknown[] = [];
    const listener = (error: unknown): number => unhandled.push(error);
    process.on('unhandledRejection', listener);
    try {
      // Each check takes longer than a turn of the event loop may, so that the first rejects before the last is called.
      const verify = async ({ n }: { n: number }): Promise<boolean> => {
        for (const end = performance.now() + 3; performance.now() < end; );
        await null;
        throw new Error(`no opinion of ${n}`);
      };
      const hits = search(everything, { devices: device, space: 64, verify });
      await expect(hits.first()).rejects.toThrow('no opinion of 0');
      await pause(20);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', listener);
    }
  });
});
