import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedDevice, type ScriptedOptions } from '../../../../test/gpu-core/device.js';
import { COUNT } from '../../../../test/gpu-core/driver.mjs';
import { kernel } from '../../../../test/gpu-core/rig.js';
import { byTier, isShort, patience } from '../../../../test/tier.js';
import { items, rw, table } from '../../../kernel/index.js';
import type { Report } from '../../device.js';

/** The whole GPU core with a scripted driver instead of hardware, in a real worker thread. */
const opened: ScriptedDevice[] = [];
afterEach(async () => {
  for (const device of opened.splice(0)) await device.close();
});
const open = async (options?: ScriptedOptions): Promise<ScriptedDevice> => {
  const device = await ScriptedDevice.open(options);
  opened.push(device);
  return device;
};
const stepped = (counts: readonly number[]): number => counts.reduce((x, count) => (Math.imul(x, 3) + count) >>> 0, 0);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test.skipIf(isShort)('close gives up on a worker that a call of its driver does not leave', async () => {
  const closeMs = patience(4000);
  const device = await ScriptedDevice.open({ script: { closeMs }, joinMs: 100 });
  const began = performance.now();
  // The worker may still have answered before it hangs.
  const answer = device
    .stream()
    .mark()
    .done.then(
      () => 'done',
      ({ code }) => code,
    );
  await device.close();
  expect(performance.now() - began).toBeLessThan(closeMs);
  expect(['done', 'device-closed']).toContain(await answer);
});

describe.each([false, true])('asynchronous: %s', (asynchronous) => {
  // Shared by the tests that leave it unchanged.
  let device: ScriptedDevice;
  beforeAll(async () => {
    device = await ScriptedDevice.open({ asynchronous });
  });
  afterAll(() => device?.close());

  test('launches, transfers and marks keep their order over thousands of commands', async () => {
    const { launches: before } = await device.telemetry();
    const job = (await device.compile(kernel)).bind({});
    const streams = Array.from({ length: 4 }, () => device.stream());
    const each = byTier(600, 3000);
    const words = await Promise.all(
      streams.map(async (stream, s) => {
        const x = await device.alloc(4);
        const counts: number[] = [];
        const marks: Promise<Report>[] = [];
        for (let i = 0; i < each; i++) {
          const count = 1 + ((i * 7 + s) % 13);
          counts.push(count);
          stream.launch({ job, count, buffers: { x } });
          if (i % 50 === 49) marks.push(stream.mark().done);
        }
        const into = new Uint32Array(1);
        stream.read(x, into);
        await Promise.all([...marks, stream.mark().done]);
        x.free();
        return { word: into[0], expected: stepped(counts) };
      }),
    );
    for (const { word, expected } of words) expect(word).toBe(expected);
    expect((await device.telemetry()).launches - before).toBe(4 * each);
  });

  test('transfers of any size and offset read back the bytes written', async () => {
    const stream = device.stream();
    const buffer = await device.alloc(9_000_004);
    for (const [offset, length] of [
      [0, 1],
      [4, 5],
      [12, 4096],
      [400, 600_001],
      [0, 9_000_003],
    ] as const) {
      const data = new Uint8Array(length);
      for (let i = 0; i < length; i++) data[i] = (i * 31 + offset) % 251;
      const back = new Uint8Array(length + 2).fill(99);
      stream.write(buffer, data, offset);
      stream.read(buffer, back.subarray(1, length + 1), offset);
      await stream.mark().done;
      expect(back[0]).toBe(99);
      expect(back[length + 1]).toBe(99);
      expect(Buffer.compare(back.subarray(1, length + 1), data)).toBe(0);
    }
  });

  test('memory from host() is used in place', async () => {
    const stream = device.stream();
    const [host, buffer] = [await device.host(3_000_000), await device.alloc(3_000_000)];
    expect(host.locked).toBe(true);
    expect(host.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    for (let i = 0; i < host.bytes.length; i++) host.bytes[i] = (i * 7) % 253;
    stream.write(buffer, host.bytes.subarray(1_000_000, 2_000_000));
    stream.copy(buffer, buffer, 1000, 0, 2_000_000);
    stream.read(buffer, host.bytes.subarray(0, 1000), 2_000_000);
    host.free(); // takes effect after the transfers
    await stream.mark().done;
    expect([...host.bytes.subarray(0, 1000)]).toEqual(
      Array.from({ length: 1000 }, (_, i) => ((1_000_000 + i) * 7) % 253),
    );
    // It is ordinary memory from here on.
    stream.read(buffer, host.bytes.subarray(0, 4), 0);
    await stream.mark().done;
  });

  test('streams wait for each other on the device', async () => {
    const job = (await device.compile(kernel)).bind({});
    const [a, b] = [device.stream(), device.stream()];
    const x = await device.alloc(4);
    const counts: number[] = [];
    for (let round = 0; round < 100; round++) {
      for (const [stream, other] of [
        [a, b],
        [b, a],
      ] as const) {
        stream.launch({ job, count: 1 + (round % 5), buffers: { x } });
        counts.push(1 + (round % 5));
        other.wait(stream.mark());
      }
    }
    const into = new Uint32Array(1);
    a.read(x, into);
    await a.mark().done;
    expect(into[0]).toBe(stepped(counts));
  });

  test('cancel stops running and queued launches, but not later ones', async () => {
    const job = (await device.compile(kernel)).bind({});
    const stream = device.stream();
    const x = await device.alloc(4);
    for (let i = 0; i < 3; i++) stream.launch({ job, count: 4_000_000_000, buffers: { x } });
    const stopped = stream.mark();
    await pause(5);
    stream.cancel();
    stream.launch({ job, count: 5, buffers: { x } });
    const after = stream.mark();
    expect((await stopped.done).complete).toBe(false);
    expect((await after.done).complete).toBe(true);
  });

  test('an error fails its own mark; a lost device fails everything with device-failed', async () => {
    const device = await open({ asynchronous });
    const job = (await device.compile(kernel)).bind({});
    const stream = device.stream();
    const x = await device.alloc(4);
    stream.launch({ job, count: COUNT.refused, buffers: { x } });
    const refused = stream.mark();
    stream.launch({ job, count: 3, buffers: { x } });
    const fine = stream.mark();
    await expect(refused.done).rejects.toMatchObject({ code: 'device-capability' });
    await fine.done;
    const other = device.stream();
    other.launch({ job, count: 50_000_000, buffers: { x } });
    const [running, call] = [other.mark(), device.telemetry()];
    await call;
    stream.launch({ job, count: COUNT.fatal, buffers: { x } });
    const fatal = stream.mark();
    await expect(fatal.done).rejects.toMatchObject({ code: 'device-failed', message: 'the device is lost' });
    await expect(running.done).rejects.toMatchObject({ code: 'device-failed' });
    await expect(device.alloc(4)).rejects.toMatchObject({ code: 'device-failed' });
    expect(() => device.stream()).toThrow(/the device is lost/);
  });

  test.skipIf(isShort && !asynchronous)(
    'a stream that is closed right after its marks still settles them',
    async () => {
      const device = await open({ asynchronous, streams: 1 });
      const job = (await device.compile(kernel)).bind({});
      const x = await device.alloc(4);
      for (let i = 0; i < 20; i++) {
        const stream = device.stream();
        stream.launch({ job, count: COUNT.refused, buffers: { x } });
        const refused = stream.mark();
        stream.launch({ job, count: 2, buffers: { x } });
        const fine = stream.mark();
        stream.close();
        await expect(refused.done).rejects.toMatchObject({ code: 'device-capability' });
        await fine.done;
      }
    },
  );

  test('a worker that dies of a bug fails pending marks', async () => {
    const device = await open({ asynchronous });
    const job = (await device.compile(kernel)).bind({});
    const [stream, other] = [device.stream(), device.stream()];
    const x = await device.alloc(4);
    stream.launch({ job, count: 50_000_000, buffers: { x } });
    const mark = stream.mark();
    other.launch({ job, count: COUNT.bug, buffers: { x } });
    const error = await mark.done.catch((reason) => reason);
    expect(error).toMatchObject({ code: 'device-failed' });
    expect(error.message).toMatch(/worker thread of device scripted died: a bug in the worker/);
  });

  test.skipIf(isShort && asynchronous)(
    'close rejects pending marks, including those that never entered the ring',
    async () => {
      const device = await open({ asynchronous, script: { room: 1 } });
      const job = (await device.compile(kernel)).bind({});
      const stream = device.stream();
      const x = await device.alloc(4);
      const marks = Array.from({ length: 9000 }, () => {
        // Half an hour each: none is done before all are queued, however slow the machine is.
        stream.launch({ job, count: 2 ** 31, buffers: { x } });
        return stream.mark();
      });
      const call = device.telemetry().catch((reason) => reason);
      await device.close();
      await device.close();
      const outcomes = await Promise.all(
        marks.map(({ done }) =>
          done.then(
            () => 'done',
            ({ code }) => code,
          ),
        ),
      );
      expect(new Set(outcomes)).toEqual(new Set(['device-closed']));
      const answer = await call;
      expect(answer.code ?? 'answered').toMatch(/^(device-closed|answered)$/);
      expect(() => stream.mark()).toThrow(/closed/);
      await expect(device.host(4)).rejects.toMatchObject({ code: 'device-closed' });
    },
  );

  test.skipIf(isShort && asynchronous)('a driver that cannot be opened reports why', async () => {
    await expect(ScriptedDevice.open({ asynchronous, script: { refuse: 'nothing there' } })).rejects.toMatchObject({
      code: 'device-absent',
      message: 'nothing there\n  asked:  a device\n  advice: plug it in',
    });
  });
});

test('host() maps memory of the runtime if it cannot lock any, and unmaps it after garbage collection', async () => {
  const lines: string[] = [];
  const device = await open({ script: { borrow: true }, log: (line) => lines.push(line) });
  const stream = device.stream();
  const buffer = await device.alloc(64);
  const use = async (): Promise<number[]> => {
    const host = await device.host(64);
    expect(host.locked).toBe(true);
    expect(host.bytes.buffer).toBeInstanceOf(ArrayBuffer);
    host.bytes.set([1, 2, 3, 4]);
    stream.write(buffer, host.bytes.subarray(0, 4));
    stream.read(buffer, host.bytes.subarray(8, 12));
    await stream.mark().done;
    return [...host.bytes.subarray(8, 12)];
  };
  expect(await use()).toEqual([1, 2, 3, 4]);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 50 && lines.at(-1) !== 'unmap true'; i++) {
    collect();
    await pause(10);
  }
  expect(lines.at(-1)).toBe('unmap true');
});

test('mapped memory of the runtime is freed after the transfers that use it, and its views are empty at once', async () => {
  const lines: string[] = [];
  const device = await open({ script: { borrow: true }, log: (line) => lines.push(line) });
  const stream = device.stream();
  const buffer = await device.alloc(64);
  const host = await device.host(64);
  const view = host.bytes.subarray(0, 4);
  view.set([1, 2, 3, 4]);
  stream.write(buffer, view);
  const written = stream.mark();
  host.free();
  host.free();
  expect([host.bytes.length, view.length]).toEqual([0, 0]);
  await written.done;
  const into = new Uint8Array(4);
  stream.read(buffer, into);
  await stream.mark().done;
  expect([...into]).toEqual([1, 2, 3, 4]);
  await expect.poll(() => lines.filter((line) => line.startsWith('unmap'))).toEqual(['unmap true']);
});

describe('options', () => {
  test('limit the streams, and are rejected if out of range', async () => {
    const device = await open({ streams: 3 });
    const streams = [device.stream(), device.stream(), device.stream()];
    expect(device.streams).toEqual({ open: 3, max: 3 });
    expect(() => device.stream()).toThrow(/all 3 streams of device \w+ are open/);
    streams[0]?.close();
    device.stream();
    expect(device.streams.open).toBe(3);
    await expect(ScriptedDevice.open({ streams: 65 })).rejects.toMatchObject({ code: 'usage' });
    await expect(ScriptedDevice.open({ streams: 0 })).rejects.toMatchObject({ code: 'usage' });
  });

  test('record calls only with telemetry, and deliver log lines', async () => {
    const lines: string[] = [];
    const [plain, watched] = [await open(), await open({ telemetry: true, log: (line) => lines.push(line) })];
    for (const device of [plain, watched]) {
      const job = (await device.compile(kernel)).bind({});
      const stream = device.stream();
      const x = await device.alloc(4);
      for (let i = 0; i < 5; i++) stream.launch({ job, count: 1, buffers: { x } });
      await stream.mark().done;
    }
    expect((await plain.telemetry()).calls).toEqual([]);
    const { calls, blockingWaits } = await watched.telemetry();
    expect(calls).toMatchObject([{ name: 'scriptedLaunch', calls: 5 }]);
    expect(blockingWaits).toBe(0);
    expect(lines).toContain('open, handle 0x5ca1ab1e');
    expect(await watched.sensors()).toEqual({ temperatureC: 42 });
  });

  test.each(['callback', 'sync'] as const)('settle marks with completion %s', async (completion) => {
    const device = await open({ completion, script: { lose: 4 } });
    const job = (await device.compile(kernel)).bind({});
    const stream = device.stream();
    const x = await device.alloc(4);
    for (let i = 0; i < 12; i++) {
      stream.launch({ job, count: 2000, buffers: { x } });
      expect((await stream.mark().done).complete).toBe(true);
    }
    const { blockingWaits, lostCallbacks } = await device.telemetry();
    expect(blockingWaits).toBe(completion === 'sync' ? 12 : 0);
    expect(lostCallbacks).toBe(completion === 'sync' ? 0 : 3);
  });
});

describe('compiling', () => {
  let device: ScriptedDevice;
  beforeAll(async () => {
    device = await ScriptedDevice.open();
  });
  afterAll(() => device?.close());

  test('an error shows the generated line and the TypeScript line', async () => {
    const faulty = items('faulty', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
      buffers.x.set(item, buffers.x.at(item).mul(3));
    });
    const error = await device.compile(faulty).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'device-compile' });
    expect(error.message).toMatch(
      /kernel faulty: scriptc 1 rejected the generated text\n {2}error: {2}expected a semicolon/,
    );
    expect(error.message).toMatch(/text: {3}line 9: /);
  });

  test('too many lanes are rejected', async () => {
    await expect(device.compile(kernel, { lanes: 512 })).rejects.toMatchObject({ code: 'device-capability' });
    expect((await device.compile(kernel, { lanes: 32 })).lanes).toBe(32);
    expect((await device.compile(kernel)).lanes).toBe(64);
  });

  test('values too large for the ring are rejected', async ({ skip }) => {
    if (isShort) return skip('tracing 66,000 values takes two seconds: npm run test:all');
    const large = items(
      'large',
      { job: { t: ['u32', 66_000] }, buffers: { x: rw('u32') } },
      ({ job, item, buffers }) => {
        buffers.x.set(item, table('u32', job.t).at(item));
      },
    );
    await expect(device.compile(large)).rejects.toThrow(/kernel large: its job and chunk values take 66\d+ words/);
  });

  test('a launch of zero items is not sent', async () => {
    const { launches: before } = await device.telemetry();
    const job = (await device.compile(kernel)).bind({});
    const stream = device.stream();
    const x = await device.alloc(4);
    stream.launch({ job, count: 0, buffers: { x } });
    stream.write(x, new Uint8Array(0));
    stream.fill(x, 0, 0, 0);
    await stream.mark().done;
    expect((await device.telemetry()).launches).toBe(before);
  });
});

describe('processes end with the expected code and output', () => {
  const child = fileURLToPath(new URL('../../../../test/gpu-core/child.mjs', import.meta.url));
  const run = (way: string, mode: string): Promise<{ code: number | null; out: string; err: string }> =>
    new Promise((resolve) => {
      const started = spawn(process.execPath, [child, way, mode], { stdio: ['ignore', 'pipe', 'pipe'] });
      let [out, err] = ['', ''];
      const hung = setTimeout(() => started.kill('SIGKILL'), patience(20_000));
      started.stdout.on('data', (data) => {
        out += data;
      });
      started.stderr.on('data', (data) => {
        err += data;
      });
      started.once('close', (code) => {
        clearTimeout(hung);
        resolve({ code, out, err });
      });
    });

  describe.each(['synchronous', 'asynchronous'])('%s', (mode) => {
    const ways: [way: string, code: number, out: string][] = [
      ['idle', 0, 'ready\n'],
      ['natural', 0, 'ready\ndone\n'],
      ['forgotten', 0, 'ready\n'],
      ['exit', 7, 'ready\n'],
      ['throw', 1, 'ready\n'],
      ['close', 5, 'ready\n'],
      ['exit-in-close', 7, 'ready\n'],
    ];
    // Each starts a process, which takes half a second: a short run has one per mode, and the others on real devices.
    const kept = mode === 'synchronous' ? 'exit-in-close' : 'natural';
    const some = ways.filter(([way]) => !isShort || way === kept);
    test.each(some)('%s', async (way, code, out) => {
      const ending = await run(way, mode);
      expect(ending).toMatchObject({ code, out });
      expect(ending.err).toMatch(way === 'throw' ? /thrown on purpose/ : /^$/);
    });
  });
});
