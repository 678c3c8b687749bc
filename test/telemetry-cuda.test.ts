import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { open as openCuda } from '../src/device/cuda/device.js';
import type { Device, DeviceTelemetry } from '../src/device/device.js';
import { findCompiler } from '../src/device/native/compiler.js';
import { Engine, generate, search } from '../src/engine/index.js';
import { items, rw, u32, when } from '../src/kernel/index.js';
import { reset } from './cuda/driver-rig.js';
import { buildFake, type Fake } from './cuda/fake.js';

/** Telemetry of a GPU beyond the start and end of work, compared with the log of the fake driver. */

const built = await buildFake();
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());

const marked = items('marked', { hit: { n: u32 } }, ({ index, emit }) => {
  when(index.lo.rem(997).eq(7), () => emit({ n: index.lo }));
});
const doubled = items('doubled', { buffers: { rows: rw('u32') } }, ({ item, index, buffers }) => {
  buffers.rows.set(item, index.lo.mul(2));
});

const devices: Device[] = [];
async function open(telemetry: boolean): Promise<Device> {
  const device = await openCuda('cuda:0', { telemetry });
  devices.push(device);
  return device;
}

async function searched(device: Device, space = 300_000) {
  const engine = new Engine([device], { records: 10_000 });
  const found: bigint[] = [];
  for await (const { index } of search(marked, { engine, space })) found.push(index);
  await engine.close();
  expect(found).toHaveLength(Math.ceil((space - 7) / 997));
  return [...engine.records];
}

describe.skipIf(missing !== undefined)(`telemetry of CUDA${missing ? `: ${missing}` : ''}`, () => {
  beforeEach(() => reset(fake));
  afterEach(async () => {
    await Promise.all(devices.splice(0).map((device) => device.close()));
    expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
  });

  test('counts the calls that the driver saw; totals agree with minima and maxima', async () => {
    const device = await open(true);
    await searched(device);
    const telemetry = (await device.telemetry?.()) as DeviceTelemetry;
    const log = fake.calls();
    const count = (name: string): number => log.filter((call) => call.name === name).length;
    const calls = new Map(telemetry.calls.map((call) => [call.name, call]));
    for (const name of ['cuLaunchKernel', 'cuEventRecord', 'cuStreamCreate', 'cuModuleLoadData', 'cuMemAllocAsync']) {
      expect([name, calls.get(name)?.calls]).toEqual([name, count(name)]);
    }
    expect(telemetry.launches).toBe(count('cuLaunchKernel'));
    expect(telemetry.blockingWaits).toBe(0);
    for (const { calls: times, totalNs, minNs, medianNs, maxNs } of telemetry.calls) {
      expect(minNs <= medianNs && medianNs <= maxNs).toBe(true);
      expect(totalNs >= times * minNs && totalNs <= times * maxNs * (1 + 1e-9)).toBe(true);
    }
  });

  test('separates launches from copies within a chunk; nothing starts before it was enqueued', async () => {
    fake.set('launch_us', 300);
    const device = await open(true);
    const records = await searched(device);
    expect(records.length).toBeGreaterThan(5);
    for (const record of records) {
      const { enqueuedNs, launchedNs, startedNs, computeStartedNs, computeEndedNs, endedNs, noticedNs, reapedNs } =
        record;
      const times = [enqueuedNs, launchedNs, startedNs, computeStartedNs, computeEndedNs, endedNs, noticedNs, reapedNs];
      expect(times).toEqual([...times].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
      // A launch takes as long as the fake is set to; the events around it are rounded to half a microsecond.
      expect(computeEndedNs - computeStartedNs).toBeGreaterThanOrEqual(299_000n);
      expect(record.occupancy).toBe(0.5);
    }
  });

  test('counts bytes each way, of searches and of rows', async () => {
    const device = await open(true);
    const [record] = await searched(device);
    // A ring of 4096 hits of two words each, behind its header.
    expect(record).toMatchObject({ bytesToDevice: 0 });
    expect(record?.bytesToHost).toBeGreaterThanOrEqual(4096 * 8);
    const engine = new Engine([device], { records: 1000 });
    let rows = 0;
    for await (const batch of generate(doubled, { engine, space: 20_000, rowBytes: 4 })) {
      rows += batch.count;
      batch.release();
    }
    await engine.close();
    expect(rows).toBe(20_000);
    const counted = [...engine.records].filter(({ outcome }) => outcome === 'counted');
    expect(counted.reduce((sum, { bytesToHost }) => sum + bytesToHost, 0)).toBeGreaterThanOrEqual(80_000);
  });

  test('records no extra events if it is off', async () => {
    const silent = await open(false);
    const counts = async (device: Device) => {
      fake.clearCalls();
      const records = await searched(device);
      const count = (name: string): number => fake.calls().filter((call) => call.name === name).length;
      return { records, launches: count('cuLaunchKernel'), events: count('cuEventRecord') };
    };
    const off = await counts(silent);
    expect(off.records.every(({ computeStartedNs }) => computeStartedNs === 0n)).toBe(true);
    expect((await silent.telemetry?.())?.calls).toEqual([]);
    // One event before and one after each chunk, and some for allocations.
    expect(off.events).toBeLessThan(3 * off.launches + 20);
    const on = await counts(await open(true));
    expect(on.records.every(({ computeStartedNs }) => computeStartedNs > 0n)).toBe(true);
    expect(on.events).toBeGreaterThanOrEqual(4 * on.launches);
  });

  test('marks chunks and launches for profilers if NVTX is installed', async () => {
    const compiler = await findCompiler();
    if ('reason' in compiler) return expect.unreachable();
    const library = join(fake.folder, 'libfake-nvtx.so');
    const log = join(fake.folder, 'ranges');
    const source = fileURLToPath(new URL('cuda/fake-nvtx.c', import.meta.url));
    execFileSync(compiler.path, [...compiler.arguments, '-shared', '-fPIC', '-Wall', '-Werror', '-o', library, source]);
    writeFileSync(log, '');
    Object.assign(process.env, { MILLRACE_LIBNVTX: library, FAKE_NVTX_LOG: log });
    try {
      const device = await open(true);
      const records = await searched(device);
      await device.close();
      const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
      const of = (what: string) => lines.filter((line) => line.startsWith(`${what} `)).map((line) => line.split(' '));
      const pushed = of('push').filter(([, , name]) => name === 'marked');
      expect(pushed.length).toBeGreaterThanOrEqual(records.length);
      expect(of('pop')).toHaveLength(of('push').length);
      const [started, ended] = [of('start'), of('end')].map((some) => new Set(some.map(([, id]) => id)));
      expect(started?.size).toBeGreaterThanOrEqual(records.length);
      expect(ended).toEqual(started);
      expect(of('start')[0]?.slice(2).join(' ')).toMatch(/^millrace stream \d+$/);
    } finally {
      delete process.env.MILLRACE_LIBNVTX;
      delete process.env.FAKE_NVTX_LOG;
    }
  });
});
