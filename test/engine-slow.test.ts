import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import {
  Engine,
  type EngineOptions,
  type FaultSpec,
  type JobProgress,
  search,
  virtualDevices,
} from '../src/engine/index.js';
import { items, u32, when } from '../src/kernel/index.js';
import { byTier } from './tier.js';

/** Healthy devices that are slow, or on a slow machine: all of their work counts, and is done once. */
const SPACE = 250_000;
/** Indices per second. */
const SPEED = 100_000;
const EVERY = 1999;
const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
const canaries = [{ start: 0n, count: 100, job: { every: 30 }, hits: [7n, 37n, 67n, 97n] }];

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());
afterEach(() => void vi.restoreAllMocks());

/**
 * Chunks of 50,000 items take half a second. Limits are 300 ms at least: shorter than a chunk, longer than a thread waits
 * for a processor of a busy machine.
 */
async function find(
  specs: readonly FaultSpec[],
  report = (_: JobProgress, __: Engine): void => undefined,
  space = SPACE,
) {
  const options: EngineOptions = { patience: 0.15, records: 10_000 };
  const engine = new Engine(virtualDevices(behind, specs), options);
  const hits: bigint[] = [];
  try {
    const searchOptions = {
      engine,
      space,
      job: { every: EVERY },
      canaries,
      min: 50_000,
      onProgress: (now: JobProgress) => report(now, engine),
    };
    for await (const { index } of search(marked, searchOptions)) hits.push(index);
  } finally {
    await engine.close();
  }
  const work = [...engine.records].filter(({ outcome }) => outcome !== 'audit');
  return { hits: hits.length, devices: engine.devices, items: work.reduce((sum, { count }) => sum + count, 0) };
}

const wanted = (space = SPACE): number => Math.ceil((space - 7) / EVERY);

describe('a chunk of half a second', () => {
  const seen: (JobProgress & { ended: bigint })[] = [];
  let found: Awaited<ReturnType<typeof find>>;
  beforeAll(async () => {
    found = await find([{ speed: SPEED }], (progress, { devices }) => {
      seen.push({ ...progress, ended: devices[0]!.items });
    });
  });

  test('makes the canary beside it late: the work is kept, and nothing is done twice', () => {
    const { hits, devices, items: done } = found;
    expect([hits, done]).toEqual([wanted(), SPACE]);
    expect(devices).toMatchObject([{ stalled: 0, fault: undefined }]);
    expect(devices[0]!.canaries).toBeGreaterThan(1);
  });

  test('is reported as held when it ends, and counts once the first canary after it is found', () => {
    expect(seen[0]).toMatchObject({ done: 0n, held: 50_000n, ended: 50_000n });
    expect(seen.find(({ done }) => done > 0n)?.ended).toBeLessThan(BigInt(SPACE));
    expect(seen.at(-1)).toMatchObject({ done: BigInt(SPACE), held: 0n });
  });
});

test('a clock that jumps, as after a stop or a sleep, is not a fault of a device', async () => {
  const now = performance.now.bind(performance);
  let jumped = 0;
  let jumps = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + jumped);
  const jump = (): void => {
    jumped += 60_000;
    jumps++;
  };
  const timer = setInterval(jump, 300);
  try {
    const space = byTier(150_000, SPACE);
    const { hits, devices, items: done } = await find([{ speed: SPEED }], undefined, space);
    expect(jumps).toBeGreaterThan(1);
    expect([hits, done]).toEqual([wanted(space), space]);
    expect(devices).toMatchObject([{ stalled: 0, fault: undefined }]);
  } finally {
    clearInterval(timer);
  }
});
