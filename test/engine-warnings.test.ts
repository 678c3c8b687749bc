import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { listDevices, openDevice, openDevices } from '../src/device/registry.js';
import { generate, openDevicesWith, search, transform } from '../src/engine/index.js';
import { cell, items, read, rw, u32, when, whileTrue } from '../src/kernel/index.js';
import { isLong, isShort } from './tier.js';

/** Errors and warnings about mistakes in the kernel, the verify or the loop, not in a device. */
openDevicesWith(openDevices);
const { devices } = await listDevices();
afterEach(() => void vi.useRealTimers());

async function all<T>(found: AsyncIterable<T>): Promise<T[]> {
  const results: T[] = [];
  for await (const one of found) results.push(one);
  return results;
}

describe('a verify that disagrees with the kernel', () => {
  const squares = items('squares', { hit: { square: u32, pair: [u32, 2] } }, ({ index, emit }) => {
    when(index.lo.rem(50).eq(7), () => emit({ square: index.lo.mul(index.lo), pair: [index.lo, 1] }));
  });
  const options = { devices: 'wasm', space: 200 };

  test('ends a search at once, with both values, and blames no device', async () => {
    const cubes = ({ index, square }: { index: bigint; square: number }) =>
      BigInt(square) === index ** 3n || `expected ${index ** 3n}`;
    await expect(all(search(squares, { ...options, verify: cubes }))).rejects.toMatchObject({
      code: 'verify-disagrees',
      summary: 'your kernel and your verify disagree at index 7',
      asked: 'kernel squares: square = 49, pair = [7, 1]; verify: expected 343',
    });
    await expect(all(search(squares, { ...options, verify: () => false }))).rejects.toThrow('; verify: false');
  });

  test('ends rows too', async () => {
    const rows = items('rows', { buffers: { out: rw(u32) } }, ({ item, index, buffers }) => {
      buffers.out.set(item, index.lo.add(0x01020304));
    });
    const wrong = generate(rows, { ...options, rowBytes: 4, verify: ({ index }) => index < 199n });
    await expect(all(wrong)).rejects.toMatchObject({
      summary: 'your kernel and your verify disagree at index 199',
      asked: 'kernel rows: row cb030201; verify: false',
    });
    const doubled = items('doubled', { buffers: { x: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
      buffers.y.set(item, buffers.x.at(item).mul(2));
    });
    const halves = { devices: 'wasm', inputBytes: 4, rowBytes: 4, verify: () => 'half of it' };
    await expect(all(transform(doubled, [Uint32Array.of(3)], halves))).rejects.toThrow(
      'kernel doubled: row 06000000; verify: half of it',
    );
  });
});

test('batches that are not released are named after five seconds', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const rows = items('rows', { buffers: { out: rw(u32) } }, ({ item, buffers }) => buffers.out.set(item, item));
  const warnings: string[] = [];
  const onWarning = (message: string): void => void warnings.push(message);
  const device = await openDevice('wasm');
  const options = { devices: device, streams: 1, slots: 1, space: 100, rowBytes: 4, batchBytes: 80, onWarning };
  const iterator = generate(rows, options)[Symbol.asyncIterator]();
  const { value: first } = await iterator.next();
  const second = iterator.next();
  await pause(20);
  for (let seconds = 1; seconds < 5; seconds++) vi.advanceTimersByTime(1000);
  expect(warnings).toEqual([]);
  // A batch that is released in time ends the wait; one that is not is named once.
  vi.advanceTimersByTime(1000);
  vi.advanceTimersByTime(9000);
  expect(warnings).toEqual([expect.stringMatching(/^rows: .*call release\(\)/)]);
  first?.release();
  (await second).value?.release();
  await iterator.return?.();
  await device.close();
});

describe('a first chunk that does not end', () => {
  const endless = items('endless', { hit: { n: u32 } }, ({ index, emit }) => {
    const n = cell(u32, index.lo.or(1));
    whileTrue(
      () => n.get().ne(0),
      () => n.set(n.get().add(2)),
    );
    emit({ n: n.get() });
  });
  // A running WebGPU kernel cannot see that it was cancelled, and the interpreter has no other thread.
  const stoppable = devices.filter(({ kind }) => kind !== 'webgpu' && kind !== 'interpreter').map(({ id }) => id);

  test.for(stoppable)('is named with job, indices and seconds, and can be aborted, on %s', async (id, ctx) => {
    if (isShort && id !== 'wasm' && id !== 'native') return ctx.skip('npm run test:all');
    const abort = new AbortController();
    const warned: string[] = [];
    const onWarning = (message: string): void => {
      warned.push(message);
      abort.abort(new Error('stopped by the user'));
    };
    const device = await openDevice(id, { threads: 1 });
    const options = { devices: device, space: 1000, patience: 0.02, onWarning, signal: abort.signal };
    await expect(all(search(endless, options))).rejects.toThrow('stopped by the user');
    expect(warned).toEqual([
      expect.stringMatching(/^endless: indices 0 to \d+ have run on .* for \d+(\.\d)? s: .* 8 s/),
    ]);
    await device.close();
  });

  test('is cancelled before unused memory is freed: a driver may free only when the kernel has ended', async () => {
    const device = await openDevice('wasm', { threads: 1 });
    const calls: string[] = [];
    const { alloc, stream: open } = device;
    device.alloc = async (bytes) => {
      const buffer = await alloc.call(device, bytes);
      const { free } = buffer;
      buffer.free = () => {
        calls.push('free');
        free.call(buffer);
      };
      return buffer;
    };
    device.stream = () => {
      const stream = open.call(device);
      const { cancel } = stream;
      stream.cancel = () => {
        calls.push('cancel');
        cancel.call(stream);
      };
      return stream;
    };
    const abort = new AbortController();
    const onWarning = (): void => abort.abort(new Error('stopped by the user'));
    const options = { devices: device, space: 1000, patience: 0.02, onWarning, signal: abort.signal };
    await expect(all(search(endless, options))).rejects.toThrow('stopped by the user');
    expect(calls[0]).toBe('cancel');
    expect(calls).toContain('free');
    await device.close();
  });

  // The thread cannot be ended, so a process of its own has it.
  test.runIf(isLong)('without checks on native cannot be interrupted: the job still ends with the reason', async () => {
    const millrace = JSON.stringify(new URL('../dist/index.js', import.meta.url).href);
    const script = `import { cell, items, search, u32, whileTrue } from ${millrace};
const endless = items('endless', { hit: { n: u32 } }, ({ index, emit }) => {
  const n = cell(u32, index.lo.or(1));
  whileTrue(() => n.get().ne(0), () => n.set(n.get().add(2)));
  emit({ n: n.get() });
});
const options = { devices: 'native', space: 1000, patience: 0.002, checked: false };
await search(endless, options).first().catch((error) => console.log(error.message));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [text] = (await once(child.stdout, 'data')) as [Buffer];
      expect(String(text)).toContain('native has not answered');
    } finally {
      child.kill('SIGKILL');
    }
  });

  test.skipIf(isShort).for(stoppable)('ends the device %s, and with it the job', async (id) => {
    const device = await openDevice(id, { threads: 1 });
    const options = { devices: device, space: 1000, patience: 0.002, onWarning: () => undefined };
    await expect(all(search(endless, options))).rejects.toThrow('has not answered');
    await pause(0);
    await device.close();
  });
});
