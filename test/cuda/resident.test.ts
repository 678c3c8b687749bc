import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CudaDevice, open as openCuda } from '../../src/device/cuda/device.js';
import type { Device, DeviceProgram, Report, Resident } from '../../src/device/device.js';
import type { ResidentQueue } from '../../src/device/gpu/resident/resident.js';
import { Engine, search } from '../../src/engine/index.js';
import { cell, items, loop, read, u32, when } from '../../src/kernel/index.js';
import { byTier, isShort } from '../tier.js';
import { reset } from './driver-rig.js';
import { buildFake, type Fake } from './fake.js';

/** Resident grids on the fake: runs the real source of the `queue` harness, with concurrent workgroups. */

const built = await buildFake();
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());

const devices: Device[] = [];
async function open(lines: string[] = []): Promise<Device> {
  const device = await openCuda('cuda:0', { log: (line) => void lines.push(line) });
  devices.push(device);
  return device;
}

const every = items(
  'every',
  { job: { by: u32 }, chunk: { plus: u32 }, hit: { n: u32, high: u32 } },
  ({ index, job, chunk, emit }) => {
    when(index.lo.rem(job.by).eq(3), () => emit({ n: index.lo.add(chunk.plus), high: index.hi }));
  },
);

interface Found {
  readonly count: number;
  readonly hits: readonly (readonly [item: number, n: number, high: number])[];
}

function foundIn(words: Uint32Array, { ring }: DeviceProgram): Found {
  const count = words[0] ?? 0;
  const room = Math.floor((words.length - ring.headerWords) / ring.recordWords);
  const hits = Array.from({ length: Math.min(count, room) }, (_, k) => {
    const at = ring.headerWords + k * ring.recordWords;
    return [words[at] ?? 0, words[at + 1] ?? 0, words[at + 2] ?? 0] as const;
  });
  return { count, hits: hits.sort((a, b) => a[0] - b[0]) };
}

/** Computes the hits of `every`. */
function wanted(base: bigint, count: number, by: number, plus: number): Found {
  const hits: [number, number, number][] = [];
  let [low, high] = [Number(base & 0xffff_ffffn), Number(base >> 32n)];
  for (let item = 0; item < count; item++) {
    if (low % by === 3) hits.push([item, (low + plus) >>> 0, high]);
    if (++low === 2 ** 32) [low, high] = [0, high + 1];
  }
  return { count: hits.length, hits };
}

const HITS = 64;

async function openResident(device: Device, by: number, entries = 4) {
  const program = await device.compile(every, { lanes: 32 });
  const resident = (await device.resident?.(program.bind({ by }), { entries, hits: HITS })) as Resident;
  expect(resident).toBeDefined();
  const submit = (base: bigint, count: number, plus = 0): Promise<Found & Report> => {
    const ring = new Uint32Array(program.ring.headerWords + HITS * program.ring.recordWords);
    const { done } = resident.submit({ base, count, chunk: { plus } }, ring);
    return done.then((report) => ({ ...foundIn(ring, program), ...report }));
  };
  return { program, resident, submit };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(missing !== undefined)(`resident grids on the fake${missing ? `: ${missing}` : ''}`, () => {
  beforeEach(() => {
    reset(fake);
    fake.set('processors', 3);
  });
  afterEach(async () => {
    await Promise.all(devices.splice(0).map((device) => device.close()));
    expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
  });
  const launches = (): number => fake.calls().filter(({ name }) => name === 'cuLaunchKernel').length;

  test('one launch does all ranges: each hit arrives once, in the ring of its range', async () => {
    const device = await open();
    const { resident, submit } = await openResident(device, 97);
    const ranges = Array.from({ length: 20 }, (_, k) => ({
      base: BigInt(k) * 2n ** 32n + BigInt(1000 * k),
      count: [1, 31, 32, 33, 999, 4096][k % 6] ?? 1,
      plus: k,
    }));
    const results = await Promise.all(ranges.map(({ base, count, plus }) => submit(base, count, plus)));
    for (const [k, { base, count, plus }] of ranges.entries()) {
      const { startedNs = 0n, endedNs = 0n, complete, ...found } = results[k] ?? {};
      expect(complete).toBe(true);
      expect(endedNs >= startedNs && startedNs > 0n).toBe(true);
      expect(found).toEqual(wanted(base, count, 97, plus));
    }
    expect(resident.launches).toBe(1);
    expect(launches()).toBe(1);
    expect((await device.telemetry?.())?.launches).toBe(1);
    resident.close();
  });

  test('a closed program stays loaded until its grid ends; a closed grid is released', async () => {
    const device = await open();
    const unloaded = (): number => fake.calls().filter(({ name }) => name === 'cuModuleUnload').length;
    for (let k = 1; k <= 3; k++) {
      const { program, resident, submit } = await openResident(device, 97);
      const first = submit(0n, 500_000);
      program.close();
      await expect.poll(unloaded).toBe(2 * k - 1); // the module for launches, which no launch uses
      expect(await first).toMatchObject({ complete: true });
      expect((await submit(0n, 4096, k)).count).toBe(wanted(0n, 4096, 97, k).count);
      expect(unloaded()).toBe(2 * k - 1);
      await (resident as ResidentQueue).closeAndWait();
      expect((device as CudaDevice).residentGrids).toBe(0);
      await expect.poll(unloaded).toBe(2 * k);
      await expect(device.resident?.(program.bind({ by: 3 }), { entries: 1, hits: 1 })).rejects.toThrow(/been closed/);
    }
  });

  test('hits beyond the ring are counted, and the next range in the slot starts at none', async () => {
    const { submit } = await openResident(await open(), 4, 1);
    for (const count of [1000, 8, 2000, 12]) {
      const { count: found, hits } = await submit(0n, count);
      expect(found).toBe(count / 4);
      expect(hits.length).toBe(Math.min(count / 4, HITS));
      expect(new Set(hits.map(([item]) => item)).size).toBe(hits.length);
    }
  });

  test('cancel stops queued ranges; ranges queued afterwards run', async () => {
    const { resident, submit } = await openResident(await open(), 1009);
    const first = [submit(0n, 2 ** 26), submit(2n ** 26n, 2 ** 26), submit(2n ** 27n, 2 ** 26)];
    await sleep(30);
    resident.cancel();
    const after = submit(0n, 5000, 7);
    for (const { complete } of await Promise.all(first)) expect(complete).toBe(false);
    expect(await after).toMatchObject(wanted(0n, 5000, 1009, 7));
    expect(resident.launches).toBe(2);
    resident.cancel(); // of nothing
    expect((await submit(0n, 100)).complete).toBe(true);
    expect(resident.launches).toBe(2);
  });

  test('stops for calls that wait for the device, and loses no hits', async () => {
    fake.set('waits', 1);
    const device = await open();
    const { resident, submit } = await openResident(device, 101, 8);
    const results = Array.from({ length: 8 }, (_, k) => submit(BigInt(k * 500_000), 500_000));
    await sleep(20);
    for (let k = 0; k < byTier(2, 4); k++) {
      const [memory, buffer] = await Promise.all([device.host(4096), device.alloc(4096)]);
      await device.compile(items('other', { job: { by: u32 } }, () => undefined));
      memory.free();
      buffer.free();
      await sleep(10);
    }
    for (const [k, result] of results.entries()) {
      const { complete, count } = await result;
      expect({ complete, count }).toEqual({
        complete: true,
        count: wanted(BigInt(k * 500_000), 500_000, 101, 0).count,
      });
    }
    expect(resident.launches).toBeGreaterThan(1);
  });

  test('two jobs run concurrently on separate multiprocessors; a third has no room', async () => {
    fake.set('processors', 5);
    const device = await open();
    const [a, b] = [await openResident(device, 50), await openResident(device, 70)];
    const { program } = await openThird(device);
    expect(await device.resident?.(program.bind({ by: 9 }), { entries: 1, hits: 1 })).toBeUndefined();
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, k) => (k % 2 ? b : a).submit(BigInt(k * 3000), 3000, k)),
    );
    for (const [k, result] of results.entries()) {
      expect(result).toMatchObject(wanted(BigInt(k * 3000), 3000, k % 2 ? 70 : 50, k));
    }
    a.resident.close();
    expect(await b.submit(0n, 3000)).toMatchObject(wanted(0n, 3000, 70, 0));
    const c = await openResident(device, 90);
    expect(await c.submit(0n, 3000)).toMatchObject(wanted(0n, 3000, 90, 0));
  });

  test('launches are short if the GPU drives a display, and lose no hits', async () => {
    fake.set('timeout', 1);
    const { resident, submit } = await openResident(await open(), 2003, 8);
    const wantedLaunches = byTier(2, 3);
    let count = 0;
    const began = performance.now();
    while (resident.launches! < wantedLaunches && performance.now() - began < 20_000) {
      const base = BigInt(count++ * 100_000);
      expect(await submit(base, 100_000)).toMatchObject(wanted(base, 100_000, 2003, 0));
    }
    expect(resident.launches).toBe(wantedLaunches);
  });

  test('a refused launch returns its ranges as incomplete', async () => {
    const { resident, submit } = await openResident(await open(), 10);
    fake.set('launch_at', 1);
    const results = await Promise.all([submit(0n, 100), submit(100n, 100)]);
    expect(results.map(({ complete }) => complete)).toEqual([false, false]);
    expect(resident.fault?.message).toContain('CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES');
    expect((await submit(0n, 100)).complete).toBe(false);
    resident.close();
  });

  test.skipIf(isShort)('opens no grid without memory, and leaves no page locked', async () => {
    const device = await open();
    const program = await device.compile(every, { lanes: 32 });
    const count = (wanted: RegExp): number => fake.calls().filter(({ name }) => wanted.test(name)).length;
    const locked = (): number => count(/^cuMemHostRegister/) - count(/^cuMemHostUnregister/);
    const before = [locked(), count(/^cuMemHostRegister/)] as const;
    const total = fake.get('total');
    fake.set('total', 0);
    expect(await device.resident?.(program.bind({ by: 97 }), { entries: 4, hits: HITS })).toBeUndefined();
    expect(count(/^cuMemHostRegister/)).toBe(before[1] + 1);
    expect(locked()).toBe(before[0]);
    fake.set('total', total);
    const { submit } = await openResident(device, 97);
    expect(await submit(0n, 5000)).toMatchObject(wanted(0n, 5000, 97, 0));
  });

  test('a grid that crashes ends the device', async () => {
    const { resident, submit } = await openResident(await open(), 1009);
    fake.set('die_at', 1);
    const dying = submit(0n, 2 ** 30).catch((error) => error);
    await sleep(20);
    resident.cancel(); // the fake lets a launch end, then destroys its context
    expect(await dying).toMatchObject({ code: 'device-failed' });
  });

  test('the device can be closed while a grid runs, and while it waits for work', async () => {
    for (const count of [2 ** 30, 10]) {
      const device = await open();
      const { submit } = await openResident(device, 1009);
      const result = submit(0n, count).then(
        ({ complete }) => complete,
        (error) => error.code,
      );
      await sleep(50);
      await device.close();
      expect(await result).toBe(count === 10 ? true : 'device-closed');
    }
  });

  test('a buffer freed early stays valid until the grid ends', async () => {
    fake.set('waits', 1);
    const device = await open();
    const kernel = items('tabled', { buffers: { table: read('u32') }, hit: { v: u32 } }, ({ item, buffers, emit }) => {
      const slow = cell('u32', buffers.table.at(item.rem(16)));
      loop(100, () => slow.set(slow.mul(3)));
      when(slow.eq(3), () => emit({ v: slow }));
    });
    const program = await device.compile(kernel, { lanes: 32 });
    const table = await device.alloc(64);
    const resident = (await device.resident?.(program.bind({}), {
      entries: 1,
      hits: 8,
      buffers: { table },
    })) as Resident;
    const { done } = resident.submit({ count: 2 ** 24 }, new Uint32Array(20));
    await sleep(20);
    resident.close();
    table.free();
    expect((await done).complete).toBe(false);
    const again = await device.alloc(64);
    again.free();
  });

  test('a search gives the same hits by one launch, with a refused grid, and beside another search', async () => {
    fake.set('processors', 5);
    const device = await open();
    const marked = items('marked', { job: { by: u32 }, hit: { n: u32 } }, ({ index, job, emit }) => {
      when(index.lo.rem(job.by).eq(3), () => emit({ n: index.lo }));
    });
    const compile = device.compile.bind(device);
    device.compile = (kernel, given) => compile(kernel, { lanes: 32, ...given }); // the fake's barriers are slow
    const engine = new Engine([device], { pipeline: 'persistent' });
    const options = { engine, space: 30_000, job: { by: 1001 }, ring: 32, min: 3000 } as const;
    const collect = async (by = 1001): Promise<number[]> => {
      const found: number[] = [];
      for await (const { n } of search(marked, { ...options, job: { by } })) found.push(n);
      return found;
    };
    const all = (by: number): number[] => wanted(0n, 30_000, by, 0).hits.map(([, n]) => n);
    expect(await collect()).toEqual(all(1001));
    expect(launches()).toBe(1);
    fake.set('launch_at', 1);
    expect(await collect()).toEqual(all(1001));
    expect(await Promise.all([collect(), collect(1500), collect(2000)])).toEqual([all(1001), all(1500), all(2000)]);
    const endless = search(marked, { ...options, space: 2n ** 60n, mode: 'first', job: { by: 5000 } });
    expect(await endless.first()).toMatchObject({ index: 3n });
    expect(engine.devices[0]).toMatchObject({ failed: 0, fault: undefined });
    await engine.close();
  });
});

const openThird = async (device: Device) => ({ program: await device.compile(every, { lanes: 32 }) });
