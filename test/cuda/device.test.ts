import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { conformanceCases, runCase } from '../../src/device/conformance/index.js';
import { open as openCuda, probe, sensors } from '../../src/device/cuda/device.js';
import type { Device, DeviceTelemetry } from '../../src/device/device.js';
import { DeviceKinds, type OpenOptions } from '../../src/device/kinds.js';
import type { MillraceError } from '../../src/kernel/error.js';
import { cell, items, loop, rw, u32 } from '../../src/kernel/index.js';
import { processSize } from '../process-size.mjs';
import { byTier } from '../tier.js';
import { reset } from './driver-rig.js';
import { buildFake, type Call, type Fake } from './fake.js';

/** The whole device, with its worker thread and compiler thread, on the fake libraries. */

const built = await buildFake();
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());

const kinds = new DeviceKinds([{ id: 'cuda', aliases: [], load: async () => ({ probe, sensors, open: openCuda }) }]);
const devices: Device[] = [];
async function open(options: OpenOptions = {}): Promise<Device> {
  const device = await kinds.open('cuda:0', options);
  devices.push(device);
  return device;
}

const chain = (name: string) =>
  items(name, { job: { by: u32 }, buffers: { y: rw('u32') } }, ({ item, buffers, job }) => {
    const value = cell('u32', buffers.y.at(item));
    loop(3, () => value.set(value.mul(2).add(job.by)));
    buffers.y.set(item, value);
  });
/** Its result for 1, with a `by` of 5. */
const CHAINED = 8 + 5 * 7;

/** Compiles a kernel that computes nothing: without a C compiler, the fake kernel only takes time. */
async function compileEmpty(device: Device, name: string) {
  const compiler = process.env.FAKE_NVRTC_CC;
  delete process.env.FAKE_NVRTC_CC;
  try {
    return await device.compile(chain(name));
  } finally {
    process.env.FAKE_NVRTC_CC = compiler;
  }
}

describe.skipIf(missing !== undefined)(`the CUDA device on the fake${missing ? `: ${missing}` : ''}`, () => {
  beforeEach(() => reset(fake));
  afterEach(async () => {
    await Promise.all(devices.splice(0).map((device) => device.close()));
    const calls = fake.calls();
    expect(calls.filter(({ name }) => name === 'MISUSE')).toEqual([]);
    const count = (name: string): number => calls.filter((call) => call.name === name).length;
    expect(count('cuDevicePrimaryCtxRelease')).toBe(count('cuDevicePrimaryCtxRetain'));
  });
  const named = (name: string): Call[] => fake.calls().filter((call) => call.name === name);

  test('unloads closed and dropped programs once, closed ones after their launches', async () => {
    const device = await open();
    const stream = device.stream();
    const y = await device.alloc(64);
    const collectAndCount = async (): Promise<number> => {
      await processSize();
      return named('cuModuleUnload').length;
    };
    const run = async (k: number): Promise<void> => {
      const program = await device.compile(chain('completion'));
      stream.fill(y, 1);
      stream.launch({ job: program.bind({ by: 5 }), count: 16, buffers: { y } });
      const into = new Uint32Array(16);
      stream.read(y, into);
      const { done } = stream.mark();
      if (k <= 2) program.close();
      await done;
      expect(new Set(into)).toEqual(new Set([CHAINED]));
      if (k <= 2) await expect.poll(() => named('cuModuleUnload').length).toBe(k);
    };
    for (let k = 1; k <= 4; k++) await run(k);
    await expect.poll(collectAndCount, { timeout: 10_000 }).toBe(4);
    await device.close();
    expect(named('cuModuleUnload').length).toBe(4);
    expect(named('cuModuleLoadData').length).toBe(4);
  });

  test('is found without a context', async () => {
    expect(await probe()).toMatchObject({ infos: [{ id: 'cuda:0', name: 'Fake GPU 0', units: 2 }] });
    expect(await sensors('cuda:0')).toMatchObject({ temperatureC: 61, powerW: 412.5, utilisation: 0.97 });
    expect(named('cuDevicePrimaryCtxRetain')).toEqual([]);
  });

  test('lists the GPUs of the machine when asked for another', async () => {
    await expect(openCuda('cuda:3')).rejects.toMatchObject({
      code: 'device-absent',
      advice: 'the GPUs on this machine are cuda:0 (Fake GPU 0); "auto" is the best device that is here',
    });
    await expect(openCuda('cuda:x')).rejects.toMatchObject({ code: 'device-unknown' });
  });

  test('makes all driver calls on one other thread, and logs its handles', async () => {
    const lines: string[] = [];
    const device = await open({ log: (line) => void lines.push(line), streams: 2 });
    expect(device.info).toMatchObject({
      id: 'cuda:0',
      versions: { driver: '580.95.05', cuda: '13.0', nvrtc: '13.0' },
      details: { link: 'PCIe 3 × 16, at most 5 × 16' },
    });
    expect(await device.sensors?.()).toMatchObject({ temperatureC: 61 });
    const streams = [device.stream(), device.stream()];
    expect(() => device.stream()).toThrow(/streams/);
    const buffer = await device.alloc(64);
    streams[0]!.fill(buffer, 7);
    await streams[0]!.mark().done;
    await device.close();
    const handles = named('cuStreamCreate').map(({ text }) => text.split(' = ')[1]);
    expect(handles).toHaveLength(4); // one zeroes memory, one sends epochs
    for (const handle of handles.slice(2)) expect(lines.join('\n')).toContain(handle);
    const threads = new Set(fake.calls().flatMap(({ name, thread }) => (name === 'cuInit' ? [] : [thread])));
    expect(threads.size).toBe(1);
    expect(threads.has(process.pid)).toBe(false);
  });

  test('compiles each kernel once, on another thread, then reads the cache', async () => {
    const device = await open();
    const before = fake.compilations();
    const first = await device.compile(chain('cached-once'));
    expect(first.compile.cached).toBe(false);
    expect(fake.compilations()).toBe(before + 1);
    expect((await device.compile(chain('cached-once'))).compile.cached).toBe(true);
    const [one, two] = await Promise.all([device.compile(chain('twice')), device.compile(chain('twice'))]);
    expect(one.text).toBe(two.text);
    expect(fake.compilations()).toBe(before + 2);
  });

  test('a compile error shows the generated line and the TypeScript line', async () => {
    const device = await open();
    const { text } = await device.compile(chain('healthy'));
    const line = text.split('\n').findIndex((own) => own.includes('* 2u') || own.includes('<< 1')) + 1;
    expect(line).toBeGreaterThan(1);
    fake.setNvrtc('fail_line', line);
    const error: MillraceError = await device.compile(chain('broken')).catch((cause) => cause);
    expect(error.code).toBe('device-compile');
    expect(error.message).toContain('NVRTC 13.0');
    expect(error.message).toContain('identifier "nonsense" is undefined');
    expect(error.message).toContain(`line ${line}: ${text.split('\n')[line - 1]!.trim()}`);
    expect(error.message).toMatch(/device\.test\.ts:\d+/);
    fake.setNvrtc('fail_line', 0);
    expect((await device.compile(chain('broken'))).name).toBe('broken');
  });

  test('copies page-locked memory directly, other memory through its staging ring', async () => {
    const device = await open();
    const bytes = 6 * 2 ** 20;
    const [host, buffer, stream] = [await device.host(2 * bytes), await device.alloc(bytes), device.stream()];
    expect(host.locked).toBe(true);
    const source = host.bytes.subarray(0, bytes);
    const target = host.bytes.subarray(bytes);
    for (let i = 0; i < bytes; i += 11) source[i] = i;
    stream.write(buffer, source);
    stream.read(buffer, target);
    await stream.mark().done;
    expect(Buffer.compare(source, target)).toBe(0);
    const sizes = named('cuMemcpyHtoDAsync').map(({ text }) => text.split(' ')[2]);
    expect(sizes).toEqual(['4', String(bytes)]); // the stream's epoch, then the bytes
    const plain = new Uint8Array(bytes);
    stream.read(buffer, plain);
    stream.fill(buffer, 0);
    stream.write(buffer, plain);
    target.fill(0);
    stream.read(buffer, target);
    await stream.mark().done;
    expect(Buffer.compare(source, target)).toBe(0);
    expect(Buffer.compare(source, plain)).toBe(0);
    host.free();
    stream.fill(buffer, 1);
    await stream.mark().done;
    await device.close();
    expect(named('cuMemHostUnregister').length).toBe(3); // this, epochs and cells, staging
  });

  test('returns pageable memory if the driver refuses to lock it', async () => {
    fake.set('register', 0);
    const device = await open();
    const host = await device.host(4096);
    expect(host.locked).toBe(false);
    const [buffer, stream] = [await device.alloc(4096), device.stream()];
    host.bytes.fill(3);
    stream.write(buffer, host.bytes);
    const back = new Uint8Array(4096);
    stream.read(buffer, back);
    await stream.mark().done;
    expect(new Set(back)).toEqual(new Set([3]));
  });

  describe('cancels', () => {
    test.for(['registered', 'asked for'])('an endless launch (page-locked memory is %s)', async (kind) => {
      fake.set('register', kind === 'registered' ? 1 : 0);
      const device = await open();
      const program = await compileEmpty(device, `endless-${kind.length}`);
      const [stream, other, y] = [device.stream(), device.stream(), await device.alloc(64)];
      fake.set('endless', 1);
      stream.launch({ job: program.bind({ by: 1 }), count: 16, buffers: { y } });
      const mark = stream.mark();
      other.fill(y, 1);
      await other.mark().done;
      stream.cancel();
      expect(await mark.done).toMatchObject({ complete: false });
    });

    test('a running launch when it closes', async () => {
      const device = await open();
      const program = await compileEmpty(device, 'endless-close');
      const [stream, y] = [device.stream(), await device.alloc(64)];
      fake.set('endless', 1);
      stream.launch({ job: program.bind({ by: 1 }), count: 16, buffers: { y } });
      const mark = stream.mark();
      await new Promise((resolve) => setTimeout(resolve, 20));
      await device.close();
      await expect(mark.done).rejects.toMatchObject({ code: 'device-closed' });
      expect(fake.calls().at(-1)?.name).toBe('cuDevicePrimaryCtxRelease');
    });
  });

  describe('learns that work is done', () => {
    async function run(device: Device, marks: number): Promise<DeviceTelemetry> {
      const program = await device.compile(chain('completion'));
      const [stream, y] = [device.stream(), await device.alloc(4096)];
      const job = program.bind({ by: 5 });
      for (let k = 0; k < marks; k++) {
        stream.fill(y, 1);
        stream.launch({ job, count: 1024, buffers: { y } });
        expect(await stream.mark().done).toMatchObject({ complete: true });
      }
      const into = new Uint32Array(1024);
      stream.read(y, into);
      await stream.mark().done;
      expect(new Set(into)).toEqual(new Set([CHAINED]));
      return (await device.telemetry?.()) as DeviceTelemetry;
    }

    test('by polling', async () => {
      const telemetry = await run(await open({ telemetry: true }), 20);
      expect(telemetry).toMatchObject({ launches: 20, lostCallbacks: 0 });
      expect(telemetry.polls).toBeGreaterThanOrEqual(20);
      const launched = telemetry.calls.find(({ name }) => name === 'cuLaunchKernel');
      expect(launched).toMatchObject({ calls: 20, medianNs: expect.any(Number) });
      // Opening the clock waits twice. On a busy machine the fake's threads are late, and blocking is correct.
      expect(named('cuEventSynchronize').length).toBe(2 + telemetry.blockingWaits);
      expect(telemetry.blockingWaits).toBeLessThan(10);
    });

    test('by a callback', async () => {
      const telemetry = await run(await open({ completion: 'callback' }), 20);
      expect(telemetry.launches).toBe(20);
      expect(telemetry.lostCallbacks).toBeLessThan(10); // the fake's threads may be late
      expect(named('cuLaunchHostFunc').length).toBeGreaterThanOrEqual(21);
    });

    test('when callbacks are lost', async () => {
      const device = await open({ completion: 'callback' });
      fake.set('lose_callbacks', 3);
      const telemetry = await run(device, 20);
      expect(telemetry.launches).toBe(20);
      expect(telemetry.lostCallbacks).toBeGreaterThanOrEqual(3);
    });

    test('by blocking waits', async () => {
      const telemetry = await run(await open({ completion: 'sync' }), 20);
      expect(telemetry.blockingWaits).toBeGreaterThan(0);
    });

    test('when events are slow', async () => {
      fake.set('event_us', 3000);
      expect(await run(await open(), 5)).toMatchObject({ launches: 5 });
    });
  });

  describe('fails', () => {
    test('an allocation that does not fit, and keeps working', async () => {
      fake.set('total', 2 ** 25);
      const device = await open();
      const half = await device.alloc(2 ** 24);
      await expect(device.alloc(2 ** 26)).rejects.toMatchObject({ code: 'device-memory' });
      const error: MillraceError = await device.alloc(2 ** 24 + 2 ** 20).catch((cause) => cause);
      expect(error.message).toMatch(/not enough device memory for 17.0 MiB: 16.0 MiB free of 32.0 MiB/);
      half.free();
      const stream = device.stream();
      stream.fill(await device.alloc(2 ** 24 + 2 ** 20), 1);
      await stream.mark().done;
    });

    test('the mark of a refused launch, and keeps working', async () => {
      const device = await open();
      const program = await device.compile(chain('completion'));
      const [stream, y] = [device.stream(), await device.alloc(4096)];
      const launch = { job: program.bind({ by: 5 }), count: 1024, buffers: { y } };
      fake.set('launch_at', 1);
      stream.launch(launch);
      await expect(stream.mark().done).rejects.toThrow(/cuLaunchKernel failed with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES/);
      stream.launch(launch);
      expect(await stream.mark().done).toMatchObject({ complete: true });
    });

    test('everything after a kernel crashes, until the process ends', async () => {
      const device = await open();
      const program = await device.compile(chain('completion'));
      const [one, two, y] = [device.stream(), device.stream(), await device.alloc(4096)];
      const launch = { job: program.bind({ by: 5 }), count: 1024, buffers: { y } };
      // The first launch to start crashes at its end, when each stream has another one to do.
      fake.set('die_at', 1);
      fake.set('launch_us', 10_000);
      for (const stream of [one, one, two, two]) stream.launch(launch);
      const marks = [one.mark(), two.mark()];
      for (const { done } of marks) {
        await expect(done).rejects.toMatchObject({ code: 'device-failed' });
        await expect(done).rejects.toThrow(/CUDA_ERROR_ILLEGAL_ADDRESS \(700\)/);
      }
      await expect(device.alloc(64)).rejects.toMatchObject({ code: 'device-failed' });
      await device.close();
      fake.set('revives', 0);
      await expect(open()).rejects.toThrow(/cuDevicePrimaryCtxRetain failed[\s\S]*restart the program/);
      fake.set('revives', 1);
      await (await open()).close(); // restores the fake
    });

    test('to open if the device is lost meanwhile', async () => {
      fake.set('lost_at', 3);
      fake.set('lost_code', 802);
      await expect(open()).rejects.toThrow(/CUDA_ERROR_SYSTEM_NOT_READY \(802\)[\s\S]*nvidia-fabricmanager/);
    });
  });

  test('two devices on one GPU are independent', async () => {
    const [one, two] = [await open(), await open()];
    const program = await two.compile(chain('completion'));
    await one.close();
    const [stream, y] = [two.stream(), await two.alloc(4096)];
    stream.launch({ job: program.bind({ by: 5 }), count: 1024, buffers: { y } });
    expect(await stream.mark().done).toMatchObject({ complete: true });
  });

  // The other cases test code from the C compiler, which is slow: only long runs include them.
  const families = byTier(
    /^(streams\/|hits\/a ring|ranges\/count|bounds\/a load)/,
    /^(streams|hits|ranges|bounds)\//,
    /./,
  );
  const all = [
    { completion: 'poll', wanted: families },
    { completion: 'callback', wanted: /^streams\// },
    { completion: 'sync', wanted: /^streams\// },
  ] as const;
  /** The fake compiles no PTX, by which floats of 16 bits are converted. */
  const needsPtx = /f16|^hits\/records/;
  test.for(byTier(all.slice(0, 1), [...all]))('conforms ($completion)', async ({ completion, wanted }) => {
    const device = await open({ completion });
    const results = [];
    for (const one of conformanceCases.filter(({ name }) => wanted.test(name) && !needsPtx.test(name)))
      results.push(await runCase(one, device));
    expect(results.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(results.filter(({ status }) => status === 'passed').length).toBeGreaterThan(7);
  });
});
