import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import {
  Engine,
  type FaultSpec,
  generate,
  Intervals,
  MemorySource,
  type Piece,
  rangeOf,
  search,
  virtualDevices,
} from '../src/engine/index.js';
import { items, rw, u32, when } from '../src/kernel/index.js';
import { byTier, isLong, isShort } from './tier.js';

/** The same results on any devices, with any pipeline, whenever a job is stopped. */
const everything = items('everything', { hit: { twice: u32 } }, ({ index, emit }) => emit({ twice: index.lo.mul(2) }));
const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
const mixed = items('mixed', { buffers: { out: rw(u32) } }, ({ index, item, buffers }) => {
  buffers.out.set(item, index.lo.mul(0x9e3779b1).xor(index.lo.shr(7)));
});

const { devices } = await listDevices();

describe.each(devices.map(({ id }) => id))('on %s', (id) => {
  let device: Device;
  beforeAll(async () => {
    device = await openDevice(id);
  });
  afterAll(() => device?.close());

  test('a kernel that hits on every index: all hits arrive, in order, none twice', async () => {
    const space = id === 'interpreter' ? byTier(1000, 3000) : byTier(5000, 20_000);
    const found: number[] = [];
    for await (const { index, twice } of search(everything, { devices: device, space, ring: 128 })) {
      found.push(Number(index) * 2 === twice ? twice / 2 : -1);
    }
    expect(found).toEqual(Array.from({ length: space }, (_, k) => k));
  });

  // The host finds the smallest hit: short runs compile no second kernel where that is slow.
  test.skipIf(isShort && /^(opencl|webgpu)/.test(id))('finds the smallest hit, or none', async () => {
    const at = { devices: device, space: { start: 30_000n, length: 20_000n }, mode: 'first' } as const;
    expect(await search(marked, { ...at, job: { every: 9999 } }).first()).toEqual({ index: 30_004n, n: 30_004 });
    expect(await search(marked, { ...at, job: { every: 60_000 } }).first()).toBeUndefined();
  });
});

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());

describe('one job', () => {
  const SPACE = byTier(12_000, 60_000);
  const wanted = mixedDigest(SPACE);
  const speeds = [2e6, 5e5, 1e6, 4e6];
  const pipelines = ['sync', 'poll', 'callback', 'persistent'] as const;
  const matrix = [1, 2, 3, 4].flatMap((count) =>
    pipelines.flatMap((pipeline) =>
      [undefined, 333, 4096].flatMap((chunk) => [1, 2, 3, 8].map((streams) => ({ count, pipeline, chunk, streams }))),
    ),
  );
  // Every eleventh case has each value of each column several times, every 29th each at least once.
  const cases = matrix.filter((_, at) => at % byTier(29, 11, 1) === byTier(5, 5, 0));
  const runs = isLong ? 10 : 1;

  test.each(cases)('$count devices, $pipeline, chunks of $chunk, $streams streams: the same results', async (given) => {
    for (let run = 0; run < runs; run++) await runJobs(given, 32 << (run % 4));
  });

  async function runJobs({ count, chunk, ...options }: (typeof matrix)[number], ring: number): Promise<void> {
    const made = virtualDevices(
      behind,
      speeds.slice(0, count).map((speed) => ({ speed })),
    );
    const engine = new Engine(made, options);
    const sizes = chunk === undefined ? {} : { min: chunk, max: chunk };
    const hits: bigint[] = [];
    const all = search(marked, { engine, space: SPACE, job: { every: 13 }, ring, ...sizes });
    for await (const { index } of all) hits.push(index);
    expect(hits).toEqual(Array.from({ length: Math.ceil((SPACE - 7) / 13) }, (_, k) => BigInt(7 + 13 * k)));
    const first = search(marked, {
      engine,
      space: { start: 20_000n, length: 40_000n },
      job: { every: 50_021 },
      mode: 'first',
      aim: 'interactive',
      ...sizes,
    });
    expect(await first.first()).toEqual({ index: 50_028n, n: 50_028 });
    const digest = createHash('sha256');
    const batchBytes = 4 * (chunk ?? 16 * ring);
    for await (const batch of generate(mixed, { engine, space: SPACE, rowBytes: 4, batchBytes })) {
      digest.update(batch.bytes);
      batch.release();
    }
    expect(digest.digest('hex')).toBe(wanted);
    await engine.close();
    for (const { open } of made) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
  }
});

function mixedDigest(count: number): string {
  const words = Uint32Array.from({ length: count }, (_, k) => Math.imul(k, 0x9e3779b1) ^ (k >>> 7));
  return createHash('sha256').update(words).digest('hex');
}

/** Records the pieces that counted, and checks that none counts twice. */
class Witness extends MemorySource<readonly { index: bigint }[]> {
  seen: Intervals;
  readonly hits: bigint[] = [];

  constructor(space: Piece, seen: Intervals) {
    super(rangeOf(space), seen);
    this.seen = seen;
  }

  override commit(piece?: Piece, hits: readonly { index: bigint }[] = []): void {
    if (!piece) return;
    const before = this.seen.total;
    this.seen = this.seen.add(rangeOf(piece));
    expect(this.seen.total - before).toBe(BigInt(piece.count));
    this.hits.push(...hits.map(({ index }) => index));
  }
}

describe('a search stopped at any moment', () => {
  test('has counted exactly, and finds the rest when resumed', async () => {
    const space = { start: 2n ** 33n - 100_000n, count: 200_000 };
    const specs: FaultSpec[] = [{ speed: 3e6 }, { speed: 7e5 }];
    let seen = Intervals.none;
    const hits: bigint[] = [];
    let stops = 0;
    for (let round = 0; seen.total < BigInt(space.count); round++) {
      const controller = new AbortController();
      const source = new Witness(space, seen);
      const timer = setTimeout(() => controller.abort(), 1 + ((round * 7) % 23) + round);
      const made = virtualDevices(behind, specs);
      try {
        for await (const _ of search(marked, {
          devices: made,
          space: rangeOf(space),
          source,
          job: { every: 101 },
          ring: 64,
          signal: controller.signal,
        })) {
          // hits are taken from the source: an abort may come before they are delivered
        }
      } catch (error) {
        expect((error as Error).name).toBe('AbortError');
        stops++;
      }
      clearTimeout(timer);
      ({ seen } = source);
      hits.push(...source.hits);
      for (const { open } of made) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
    }
    expect(stops).toBeGreaterThan(2);
    const wanted: bigint[] = [];
    for (let at = space.start; at < space.start + 200_000n; at++) {
      if (BigInt.asUintN(32, at) % 101n === 7n) wanted.push(at);
    }
    expect(hits.sort((a, b) => (a < b ? -1 : 1))).toEqual(wanted);
  });
});
