import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CudaDriver } from '../../src/device/cuda/driver.js';
import { signalLibrary } from '../../src/device/cuda/runtime/signal.js';
import { epochWord } from '../../src/device/gpu/wire/board.js';
import { FatalError } from '../../src/device/gpu/worker/driver.js';
import { launchBlock } from '../../src/kernel/abi/grid.js';
import { MillraceError } from '../../src/kernel/error.js';
import { items, rw, u32 } from '../../src/kernel/index.js';
import {
  closeDrivers,
  EPOCH,
  hostOf,
  openDriver as open,
  plain,
  reset,
  sent,
  settled,
  sourceOf,
} from './driver-rig.js';
import { buildFake, type Fake } from './fake.js';

/** The driver against the fake libcuda: order between streams, signals, cancelled and failed work, closing. */

const built = await buildFake();
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());

const add = items('add', { job: { by: u32 }, buffers: { y: rw('u32') } }, ({ item, buffers, job }) => {
  buffers.y.set(item, buffers.y.at(item).add(job.by));
});
const outside = items('outside', { job: { by: u32 }, buffers: { y: rw('u32') } }, ({ item, buffers, job }) => {
  buffers.y.set(item.add(job.by), 1);
});

/** Opens a driver with a stream, a kernel and 4 KiB. */
function rig(host = hostOf(), own: object = {}, kernel = add, checked = false) {
  const driver = open(host, own);
  const line = driver.openLine(0, EPOCH);
  const source = sourceOf(kernel, { number: 41, checked });
  const program = driver.load(source);
  const y = driver.alloc(4096);
  const launch = (by: number, on = line, epoch = 0): boolean => {
    const block = launchBlock(program.shape, { count: 1024, epoch, bytes: [4096] }, source.words(by));
    return driver.launch(on, { program, block, epoch, count: 1024, buffers: [y] });
  };
  return { driver, line, program, y, launch, host };
}

/** The same with a kernel that only takes time; if the fake is `endless`, it runs until it is cancelled. */
function emptyRig(...given: Parameters<typeof rig>) {
  const compiler = process.env.FAKE_NVRTC_CC;
  delete process.env.FAKE_NVRTC_CC;
  try {
    return rig(...given);
  } finally {
    process.env.FAKE_NVRTC_CC = compiler;
  }
}

async function contents(driver: CudaDriver, line: ReturnType<CudaDriver['openLine']>, y: { bytes: number }) {
  const into = new Uint32Array(1024);
  await sent(() => driver.read(line, y as Parameters<CudaDriver['read']>[1], 0, plain(into)));
  await settled(driver, driver.mark(line));
  return [...new Set(into)];
}

function thrown(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe.skipIf(missing !== undefined)(`the CUDA driver on the fake${missing ? `: ${missing}` : ''}`, () => {
  beforeEach(() => reset(fake));
  afterEach(() => {
    closeDrivers();
    expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
  });
  const names = (): string[] => fake.calls().map(({ name }) => name);

  test('commands of a stream reach the driver in order, between two events', async () => {
    const { driver, line, y, launch } = rig();
    const before = driver.mark(line);
    await settled(driver, before);
    driver.release(before);
    fake.clearCalls();
    driver.begin(line);
    driver.fill(line, y, 0, 1, 4096);
    launch(2);
    driver.copy(line, y, 0, y, 2048, 1024);
    launch(3);
    const mark = driver.mark(line);
    const work = names().filter((name) => !/Query|CreateStream|EventCreate|WaitEvent/.test(name));
    // First a wait for new memory (an event on the stream that zeroes it), then one for the epoch.
    expect(work).toEqual([
      'cuEventRecord',
      'cuEventRecord',
      'cuMemsetD32Async',
      'cuEventRecord',
      'cuLaunchKernel',
      'cuMemcpyDtoDAsync',
      'cuLaunchKernel',
      'cuEventRecord',
    ]);
    expect(await settled(driver, mark)).toMatchObject({ kind: 'passed', complete: true });
    expect(await contents(driver, line, y)).toEqual([6]);
  });

  test('events are reused, and a mark without work has a time too', async () => {
    const { driver, line, launch } = rig();
    let last = 0n;
    for (let k = 0; k < 20; k++) {
      if (k % 3 !== 0) {
        driver.begin(line);
        launch(1);
      }
      const mark = driver.mark(line);
      const result = await settled(driver, mark);
      driver.release(mark);
      if (result.kind !== 'passed') throw new Error(result.kind);
      expect(result.startedNs).toBeGreaterThanOrEqual(last);
      expect(result.endedNs).toBeGreaterThanOrEqual(result.startedNs);
      expect(result.endedNs).toBeLessThanOrEqual(process.hrtime.bigint());
      last = result.endedNs;
    }
    expect(names().filter((name) => name === 'cuEventCreate').length).toBeLessThan(8);
  });

  test('a stream waits for another on the device, without blocking the host', async () => {
    const { driver, line, y, launch } = emptyRig();
    const other = driver.openLine(1, EPOCH + 1);
    fake.set('endless', 1);
    launch(5);
    const first = driver.mark(line);
    expect(driver.wait(other, first)).toBe(true);
    driver.copy(other, y, 0, y, 2048, 2048);
    const second = driver.mark(other);
    expect(driver.poll(second)).toBeUndefined();
    driver.cancel(line, 1);
    const [one, two] = [await settled(driver, first), await settled(driver, second)];
    if (one.kind !== 'passed' || two.kind !== 'passed') throw new Error('not passed');
    expect(two.endedNs).toBeGreaterThanOrEqual(one.endedNs);
  });

  test('a read waits for another stream that reads into the same memory', async () => {
    const { driver, line, y, launch } = emptyRig();
    const other = driver.openLine(1, EPOCH + 1);
    const second = driver.alloc(64);
    const into = new Uint32Array(16);
    fake.set('endless', 1);
    launch(1);
    driver.fill(line, y, 0, 1, 64);
    driver.fill(other, second, 0, 2, 64);
    expect(driver.read(line, y, 0, plain(into))).toBe(true);
    const first = driver.mark(line);
    driver.wait(other, first);
    expect(driver.read(other, second, 0, plain(into))).toBe(false);
    expect(driver.write(other, second, 0, plain(into.subarray(8)))).toBe(false);
    driver.cancel(line, 1);
    await sent(() => driver.read(other, second, 0, plain(into)));
    await settled(driver, driver.mark(other));
    await settled(driver, first);
    expect([...new Set(into)]).toEqual([2]);
  });

  test('a launch of an older epoch stops, and its mark is incomplete', async () => {
    const { driver, line, launch, y } = rig();
    launch(1);
    expect(await settled(driver, driver.mark(line))).toMatchObject({ complete: true });
    driver.cancel(line, 1);
    launch(1, line, 0);
    launch(1, line, 1);
    expect(await settled(driver, driver.mark(line))).toMatchObject({ complete: false });
    expect(await contents(driver, line, y)).toEqual([2]);
    launch(1, line, 1);
    expect(await settled(driver, driver.mark(line))).toMatchObject({ complete: true });
  });

  test('an access outside a buffer is reported with program, site and length', async () => {
    const { driver, line, launch } = rig(hostOf(), {}, outside, true);
    launch(0);
    expect(await settled(driver, driver.mark(line))).toMatchObject({ kind: 'passed' });
    launch(3);
    const mark = driver.mark(line);
    expect(await settled(driver, mark)).toMatchObject({ kind: 'trapped', program: 41, site: 0, length: 1024 });
    driver.release(mark);
    launch(0);
    expect(await settled(driver, driver.mark(line))).toMatchObject({ kind: 'passed' });
  });

  describe('signals', () => {
    const signalled = async (driver: CudaDriver, mark: ReturnType<CudaDriver['mark']>): Promise<boolean> => {
      for (let k = 0; k < 300; k++) {
        if (driver.signalled(mark)) return true;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return false;
    };

    test('by a native function', async () => {
      const { driver, line, launch } = emptyRig(hostOf('callback'), { signal: await signalLibrary() });
      fake.set('endless', 1);
      launch(1);
      const mark = driver.mark(line);
      expect(driver.signalled(mark)).toBe(false);
      driver.cancel(line, 1);
      expect(await signalled(driver, mark)).toBe(true);
      expect(driver.poll(mark)).toMatchObject({ kind: 'passed' });
      expect(names()).toContain('cuLaunchHostFunc');
      expect(names()).not.toContain('cuStreamWriteValue32');
    });

    test('by the GPU if there is no compiler', async () => {
      const { driver, line, launch } = rig(hostOf('callback'));
      launch(1);
      const mark = driver.mark(line);
      expect(await signalled(driver, mark)).toBe(true);
      expect(driver.poll(mark)).toMatchObject({ kind: 'passed' });
      expect(names()).toContain('cuStreamWriteValue32');
      expect(names()).not.toContain('cuLaunchHostFunc');
    });

    test('that are lost leave the mark to be polled, and do not signal other marks', async () => {
      const { driver, line, launch } = rig(hostOf('callback'), { signal: await signalLibrary() });
      fake.set('lose_callbacks', 1);
      launch(1);
      const lost = driver.mark(line);
      expect(await settled(driver, lost)).toMatchObject({ kind: 'passed' });
      expect(driver.signalled(lost)).toBe(false);
      driver.release(lost);
      for (let k = 0; k < 200; k++) {
        const mark = driver.mark(line);
        expect(await signalled(driver, mark)).toBe(true);
        await settled(driver, mark);
        driver.release(mark);
      }
    });

    test.each([true, false])('keep their stream until they have ended (native: %s)', async (native) => {
      const host = hostOf('callback');
      const { driver, line, launch } = rig(host, native ? { signal: await signalLibrary() } : {});
      fake.set('callback_us', 20_000);
      launch(1);
      const mark = driver.mark(line);
      expect(await signalled(driver, mark)).toBe(true);
      expect(driver.poll(mark)).toMatchObject({ kind: 'passed' });
      driver.release(mark);
      driver.closeLine(line); // the callback has set its word, but has not returned
      expect(names()).not.toContain('cuStreamDestroy');
      const other = driver.openLine(2, epochWord(2));
      await vi.waitFor(() => {
        driver.closeLine(driver.openLine(3, epochWord(3)));
        expect(fake.calls().filter(({ name }) => name === 'cuStreamDestroy').length).toBeGreaterThan(1);
      });
      driver.closeLine(other);
    });

    test('are not requested when polling', () => {
      const { driver, line, launch } = rig();
      launch(1);
      expect(driver.signalled(driver.mark(line))).toBe(false);
      expect(names()).not.toContain('cuStreamWriteValue32');
    });
  });

  test('blocks on an event that lets the thread sleep', async () => {
    const { driver, line, launch } = rig(hostOf('sync'));
    fake.set('launch_us', 10_000);
    launch(1);
    const mark = driver.mark(line);
    const created = fake.calls().filter(({ name }) => name === 'cuEventCreate');
    fake.clearCalls();
    driver.block(mark);
    const [wait, ...others] = fake.calls();
    expect([wait?.name, others]).toEqual(['cuEventSynchronize', []]);
    const blockingSync = 1;
    expect(created.map(({ text }) => text)).toContain(`${blockingSync} = ${wait?.text}`);
    expect(driver.poll(mark)).toMatchObject({ kind: 'passed' });
  });

  describe('errors', () => {
    test('out of memory states requested, free and total bytes, without a call of the driver', () => {
      fake.set('total', 2 ** 25);
      const driver = open();
      driver.alloc(2 ** 24);
      fake.clearCalls();
      const error = thrown(() => driver.alloc(2 ** 24 + 2 ** 20)) as MillraceError;
      expect(error).toBeInstanceOf(MillraceError);
      expect(error.code).toBe('device-memory');
      expect(error.message).toContain('not enough device memory for 17.0 MiB: 16.0 MiB free of 32.0 MiB');
      expect(error.message).toContain('16.0 MiB in 2 buffers of this device');
      expect(names()).not.toContain('cuMemAllocAsync');
      expect(driver.alloc(2 ** 20).bytes).toBe(2 ** 20); // and the device keeps working
    });

    test('trims its pool when the driver reports out of memory', () => {
      const driver = open();
      fake.set('oom_at', 1);
      expect(driver.alloc(64).bytes).toBe(64);
      expect(names()).toContain('cuMemPoolTrimTo');
      closeDrivers();
      fake.set('pools', 0);
      const plain_ = open();
      fake.set('oom_at', 1);
      const error = thrown(() => plain_.alloc(64)) as MillraceError;
      expect(error.code).toBe('device-memory');
      expect(plain_.alloc(64).bytes).toBe(64);
    });

    test('a refused launch fails only its mark, with function, code, message, device, kernel and advice', async () => {
      const { driver, line, launch } = rig();
      fake.set('launch_at', 1);
      const error = thrown(() => launch(1)) as MillraceError;
      expect(error).toBeInstanceOf(MillraceError);
      expect(error.message).toBe(
        [
          'cuda:0 (Fake GPU 0): cuLaunchKernel failed with CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources requested for launch',
          '  asked:  a launch of kernel add (cuLaunchKernel)',
          '  advice: the kernel needs more registers or workgroup memory than the GPU has: use a smaller workgroup',
        ].join('\n'),
      );
      launch(1);
      expect(await settled(driver, driver.mark(line))).toMatchObject({ kind: 'passed', complete: true });
    });

    test('a kernel that crashes ends the device', async () => {
      const { driver, line, launch } = emptyRig();
      fake.set('die_at', 1);
      fake.set('endless', 1);
      launch(1);
      const mark = driver.mark(line);
      driver.cancel(line, 1);
      const error = await settled(driver, mark).catch((cause) => cause);
      expect(error).toBeInstanceOf(FatalError);
      const { message } = (error as FatalError).error;
      expect(message).toContain('CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered');
      expect(message).toContain('kernel add on stream 0');
      expect(message).toContain('compile the kernel with `checked`');
      expect(thrown(() => driver.alloc(64))).toBeInstanceOf(FatalError);
      closeDrivers();
      expect(names().at(-1)).toBe('cuDevicePrimaryCtxRelease');
      // If the driver allows it (NVIDIA's does not), the context is created again.
      reset(fake);
      const again = rig();
      again.launch(1);
      expect(await settled(again.driver, again.driver.mark(again.line))).toMatchObject({ kind: 'passed' });
    });

    test.for([46, 999, 719])('a device can be lost (%i) at any call', async (code) => {
      for (let at = 1; at < 30; at++) {
        reset(fake);
        fake.set('lost_code', code);
        const { driver, line, y, launch } = rig();
        fake.set('lost_at', at);
        const bytes = new Uint8Array(4096);
        const error = thrown(() => {
          for (let k = 0; k < 30; k++) {
            driver.begin(line);
            driver.write(line, y, 0, plain(bytes));
            launch(1);
            driver.mark(line);
          }
        });
        expect(error).toBeInstanceOf(FatalError);
        expect((error as FatalError).error.code).toBe('device-failed');
        closeDrivers();
        expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
      }
    });

    test('a failed open reports the driver’s message and leaks nothing', () => {
      for (let at = 1; at < 12; at++) {
        reset(fake);
        fake.set('lost_at', at);
        fake.set('lost_code', 802);
        const error = thrown(() => open().close());
        expect(error).toBeInstanceOf(MillraceError);
        expect((error as MillraceError).message).toMatch('CUDA_ERROR_SYSTEM_NOT_READY (802)');
        expect((error as MillraceError).message).toMatch('nvidia-fabricmanager');
        const [retained, released] = ['Retain', 'Release'].map(
          (word) => names().filter((name) => name.endsWith(word)).length,
        );
        expect(released).toBe(retained);
        expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
      }
    });

    test('a binary that the driver rejects is a compile error', () => {
      const driver = open();
      const source = { ...sourceOf(add), binary: new TextEncoder().encode('not a cubin at all, and long enough') };
      const error = thrown(() => driver.load(source)) as MillraceError;
      expect(error.code).toBe('device-compile');
      expect(error.message).toContain('loading kernel add (cuModuleLoadData)');
    });
  });

  describe('closing', () => {
    test('stops running work, then frees everything once, the context last', () => {
      const { driver, line, launch, y } = emptyRig();
      fake.set('endless', 1);
      const second = driver.openLine(1, EPOCH + 1);
      driver.lock(4096);
      const bytes = new Uint8Array(4096);
      driver.begin(line);
      driver.write(line, y, 0, plain(bytes));
      launch(1);
      driver.wait(second, driver.mark(line));
      driver.fill(second, y, 0, 1, 64);
      fake.clearCalls();
      driver.close();
      driver.close();
      const calls = names();
      const count = (name: string): number => calls.filter((own) => own === name).length;
      expect(count('cuStreamDestroy')).toBe(4);
      expect(count('cuModuleUnload')).toBe(1);
      expect(count('cuMemFreeAsync')).toBe(2);
      expect(count('cuMemHostUnregister')).toBe(3); // epochs and cells, staging, locked memory
      expect(calls.slice(-2)).toEqual(['cuCtxSetCurrent', 'cuDevicePrimaryCtxRelease']);
      expect(calls.indexOf('cuMemFreeAsync')).toBeLessThan(calls.indexOf('cuStreamSynchronize'));
    });

    test('destroys a closed stream and logs its handle', () => {
      const host = hostOf();
      const driver = open(host);
      const line = driver.openLine(7, EPOCH);
      driver.closeLine(line);
      const created = fake
        .calls()
        .filter(({ name }) => name === 'cuStreamCreate')
        .at(-1);
      const handle = created?.text.split(' = ')[1];
      expect(host.lines).toContainEqual(expect.stringContaining(`stream 7 is ${handle}`));
      expect(fake.calls().at(-1)).toMatchObject({ name: 'cuStreamDestroy', text: handle });
    });
  });
});
