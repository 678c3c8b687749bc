import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine, type FaultSpec, Intervals, rangeOf, search, virtualDevices } from '../src/engine/index.js';
import { items, u32, when } from '../src/kernel/index.js';

/** A space partitioned in advance: which device does which part, and what happens when one fails. */
const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
const marks = (space: number, every: number): bigint[] =>
  Array.from({ length: Math.max(0, Math.ceil((space - 7) / every)) }, (_, k) => BigInt(7 + k * every));

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());

/** The hits, and the indices that each device did. */
async function shared(
  specs: readonly FaultSpec[],
  space: number,
  options: { partition: 'equal' | 'measured'; steal: boolean },
) {
  const devices = virtualDevices(behind, specs);
  const engine = new Engine(devices, { records: 100_000 });
  const hits: bigint[] = [];
  for await (const { index } of search(marked, { engine, space, job: { every: 11 }, max: 2000, ...options }))
    hits.push(index);
  const records = [...engine.records].filter(({ outcome }) => outcome === 'counted');
  const done = devices.map(({ info: { id } }) =>
    Intervals.of(records.filter(({ device }) => device === id).map((record) => rangeOf(record))),
  );
  await engine.close();
  for (const { open } of devices) expect(open).toEqual({ buffers: 0, streams: 0, host: 0 });
  return { hits, records, done };
}

describe('equal parts', () => {
  const speeds = [{ speed: 4e6 }, { speed: 5e5 }, { speed: 1e6 }, { speed: 2e6 }];

  test.each([
    [1000, [250, 250, 250, 250]],
    [1001, [251, 250, 250, 250]],
    [2, [2, 0, 0, 0]],
    [30_000, [7500, 7500, 7500, 7500]],
  ])('%i indices over four devices of different speeds: each does only its own part', async (space, shares) => {
    const { hits, done } = await shared(speeds, space, { partition: 'equal', steal: false });
    expect(hits).toEqual(marks(space, 11));
    let start = 0n;
    for (const [at, share] of shares.entries()) {
      expect([...(done[at] ?? [])]).toEqual(share === 0 ? [] : [{ start, length: BigInt(share) }]);
      start += BigInt(share);
    }
  });

  test('a device that is done helps the slow one with steal', async () => {
    const space = 60_000;
    const specs = [{ speed: 4e6 }, { speed: 4e4 }];
    const { hits, done } = await shared(specs, space, { partition: 'equal', steal: true });
    expect(hits).toEqual(marks(space, 11));
    const [fast, slow] = done;
    expect(fast?.has({ start: 0n, length: 30_000n })).toBe(true);
    expect(fast!.total).toBeGreaterThan(30_000n);
    expect(fast!.total + slow!.total).toBe(60_000n);
  });

  test('the others do the part of a lost device, also without steal', async () => {
    const specs: FaultSpec[] = [{ speed: 1e6 }, { speed: 1e6, disappearsAt: 2 }, { speed: 1e6 }];
    const { hits, done } = await shared(specs, 30_000, { partition: 'equal', steal: false });
    expect(hits).toEqual(marks(30_000, 11));
    expect(done[1]!.total).toBeLessThan(10_000n);
    const broken = await shared([{ speed: 1e6 }, { failsToCompile: true }], 3000, { partition: 'equal', steal: false });
    expect(broken.hits).toEqual(marks(3000, 11));
  });
});

describe('parts by speed', () => {
  test('each device has its own part after a few chunks', async () => {
    const space = 400_000;
    const { hits, records } = await shared([{ speed: 3e6 }, { speed: 1e6 }], space, {
      partition: 'measured',
      steal: false,
    });
    expect(hits).toEqual(marks(space, 11));
    // The last chunks of one device are all below those of the other.
    const [low, high] = ['virtual:0', 'virtual:1'].map((id) => {
      const starts = records.filter(({ device }) => device === id).map(({ start }) => start);
      return starts.slice(-5);
    });
    expect(low).toHaveLength(5);
    for (const start of high!) for (const below of low!) expect(start).toBeGreaterThan(below);
  });
});
