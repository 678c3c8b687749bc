import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, describe, expect, type TestContext, test } from 'vitest';
import type { Device } from '../../src/device/device.js';
import type { GpuSource } from '../../src/device/gpu/worker/driver.js';
import { type OpenClDevice, open, probe } from '../../src/device/opencl/device.js';
import { cell, items, loop, rw, table } from '../../src/kernel/index.js';
import { isShort, patience } from '../tier.js';
import { openApart, withFreshManifest } from './open.js';

/** These tests need only a CPU platform: `openApart` runs a GPU's code path on it. */
const found = await probe();
const cpu = 'infos' in found ? found.infos.find(({ processor }) => processor === 'cpu') : undefined;
const missing = 'reason' in found ? found.reason : 'no OpenCL platform for this CPU';

const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
process.env.MILLRACE_CACHE_DIR = cacheDirectory;
const opened: Device[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((device) => device.close()));
});
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

type Opener = 'as it is' | 'as a GPU';
async function device(ctx: TestContext, how: Opener = 'as it is', log?: (line: string) => void): Promise<OpenClDevice> {
  if (!cpu) ctx.skip(missing);
  const options = { telemetry: true, ...(log && { log }) };
  const one = await (how === 'as it is' ? open(cpu!.id, options) : openApart(cpu!.id, options));
  opened.push(one);
  return one as OpenClDevice;
}

/** Adds to each word of x; each `salt` gives a different source. */
const adding = (salt: number) =>
  items(`add-${salt}`, { chunk: { plus: 'u32' }, buffers: { x: rw('u32') } }, ({ item, chunk, buffers }) => {
    buffers.x.set(item, buffers.x.at(item).add(chunk.plus).add(salt));
  });

/** Runs a chain of `steps` per item. */
const spin = items('spin', { job: { steps: 'u32' }, buffers: { x: rw('u32') } }, ({ job, item, buffers }) => {
  const chain = cell('u32', item);
  loop(job.steps, () => chain.set(chain.mul(5).add(1)));
  buffers.x.set(item.and(15), chain);
});

async function sumOf(one: Device, salt: number): Promise<{ cached: boolean; word: number }> {
  const program = await one.compile(adding(salt));
  const x = await one.alloc(64);
  const stream = one.stream();
  stream.launch({ job: program.bind({}), chunk: { plus: 5 }, count: 16, buffers: { x } });
  const words = new Uint32Array(16);
  stream.read(x, words);
  await stream.mark().done;
  stream.close();
  x.free();
  return { cached: program.compile.cached, word: words[15]! };
}

test('device info is read from the platform', (ctx) => {
  if (!cpu || !('infos' in found)) return ctx.skip(missing);
  expect(cpu.units).toBe(availableParallelism());
  expect(cpu.memoryBytes).toBeLessThanOrEqual(totalmem());
  expect(cpu.limits.bufferBytes).toBeLessThanOrEqual(cpu.memoryBytes);
  // CPUs of PCs and servers have these, and their platforms have the full profile.
  expect(cpu.capabilities).toEqual(expect.arrayContaining(['u64', 'f64', 'f32']));
  expect(cpu.versions.opencl).toMatch(/^OpenCL \d\.\d/);
  const processors = found.infos.map(({ processor }) => processor);
  expect(processors).toEqual([...processors].sort().reverse()); // gpu before cpu
  expect(found.infos.map(({ id }) => id)).toEqual(found.infos.map((_, i) => `opencl:${i}`));
});

test('rejects names of absent devices', async (ctx) => {
  if (!cpu) return ctx.skip(missing);
  await expect(open('opencl:99')).rejects.toMatchObject({
    code: 'device-absent',
    advice: expect.stringContaining('opencl:0'),
  });
  await expect(open('opencl:x')).rejects.toMatchObject({ code: 'device-unknown' });
});

describe('the cache of binaries', () => {
  const entries = async () => (await readdir(cacheDirectory)).filter((name) => /^[0-9a-f]{64}$/.test(name));

  test('stores compiled kernels, and replaces a damaged entry', async (ctx) => {
    const one = await device(ctx);
    const before = await entries();
    expect(await sumOf(one, 1001)).toEqual({ cached: false, word: 1006 });
    expect(await sumOf(one, 1001)).toEqual({ cached: true, word: 1006 });
    const [entry] = (await entries()).filter((name) => !before.includes(name));
    const file = join(cacheDirectory, entry!, 'kernel.bin');
    const bytes = await readFile(file);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(file, bytes);
    expect(await sumOf(one, 1001)).toEqual({ cached: false, word: 1006 });
    expect(await sumOf(one, 1001)).toEqual({ cached: true, word: 1006 });
  });

  test('compiles a kernel from source if the platform rejects its binary', async (ctx) => {
    const lines: string[] = [];
    const one = await device(ctx, 'as it is', (line) => lines.push(line));
    const before = await entries();
    await sumOf(one, 1002);
    const [entry] = (await entries()).filter((name) => !before.includes(name));
    await writeFile(join(cacheDirectory, entry!, 'kernel.bin'), 'of another driver, say');
    await withFreshManifest(join(cacheDirectory, entry!));
    expect(await sumOf(one, 1002)).toEqual({ cached: true, word: 1007 });
    const loads = lines.filter((line) => line.includes('add-1002'));
    expect(loads.map((line) => /from (its binary|text)/.exec(line)?.[1])).toEqual(['its binary', 'text']);
  });

  test.skipIf(isShort)('shares one compilation between concurrent requests', async (ctx) => {
    const one = await device(ctx);
    const before = await entries();
    const both = await Promise.all([sumOf(one, 1003), sumOf(one, 1003)]);
    expect(both.map(({ word }) => word)).toEqual([1008, 1008]);
    expect((await entries()).length).toBe(before.length + 1);
  });
});

test('a compile error shows the generated line and the TypeScript line', async (ctx) => {
  const one = await device(ctx);
  // No kernel produces invalid source, so the test breaks it.
  const broken = one as unknown as { build(source: GpuSource): Promise<unknown> };
  const build = broken.build.bind(one);
  broken.build = (source) => build({ ...source, text: source.text.replace('b_x[item] =', 'b_y[item] =') });
  const error = await one.compile(adding(1004)).catch((cause) => cause);
  expect(error.code).toBe('device-compile');
  expect(error.message).toMatch(/kernel add-1004/);
  expect(error.message).toMatch(/undeclared identifier 'b_y'/);
  expect(error.message).toMatch(/text: +line \d+: b_x\[item\] =/);
  expect(error.message).toMatch(/from: .*device\.test\.ts:\d+/);
});

test('a killed compiler fails only its own compilation', async (ctx) => {
  if (process.platform !== 'linux') return ctx.skip('processes are listed from /proc');
  const one = await device(ctx);
  const large = items('large', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
    let value = buffers.x.at(item);
    for (let i = 0; i < 800; i++) value = value.mul(2 * i + 3).xor(value.shr((i % 31) + 1));
    buffers.x.set(item, value);
  });
  const compiled = one.compile(large).then(
    () => 'compiled',
    (error) => error.code as string,
  );
  const deadline = Date.now() + patience(20_000);
  let ended: string | undefined;
  void compiled.then((how) => {
    ended = how;
  });
  // Repeated: the first process found may have been ending.
  while (ended === undefined && Date.now() < deadline) {
    for (const pid of serviceProcesses()) process.kill(pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(ended).toBe('device-failed');
  expect((await sumOf(one, 1005)).word).toBe(1010);
});

function serviceProcesses(): number[] {
  return readdirSync('/proc').flatMap((entry) => {
    try {
      if (
        !/^\d+$/.test(entry) ||
        !readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes('opencl/runtime/helper-process')
      )
        return [];
      const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${entry}/status`, 'utf8'))?.[1];
      return Number(parent) === process.pid ? [Number(entry)] : [];
    } catch {
      return []; // ended
    }
  });
}

describe.each<Opener>(['as it is', 'as a GPU'])('%s', (how) => {
  test('reports requested and used memory when memory is exhausted', async (ctx) => {
    const one = await device(ctx, how);
    const { memoryBytes, limits } = one.info;
    await expect(one.alloc(limits.bufferBytes + 16)).rejects.toMatchObject({ code: 'device-memory' });
    if (how === 'as a GPU') return; // zeroing would commit it all
    const held: { free(): void }[] = [];
    const bytes = Math.min(limits.bufferBytes, 2 ** 32);
    for (let sum = bytes; sum <= memoryBytes; sum += bytes) held.push(await one.alloc(bytes));
    const error = await one.alloc(bytes).catch((cause) => cause);
    expect(error.code).toBe('device-memory');
    expect(error.message).toMatch(new RegExp(`alloc\\(${bytes}\\), with .* in ${held.length} buffers? `));
    held[0]!.free();
    await one.alloc(bytes);
  });

  test('large transfers, in pieces and at odd offsets, return the same bytes', async (ctx) => {
    const one = await device(ctx, how);
    const bytes = 40 * 2 ** 20 + 12; // more than a ring of staging
    const [from, to] = [await one.alloc(bytes), await one.alloc(bytes)];
    const given = new Uint8Array(bytes);
    for (let i = 0; i < bytes; i += 997) given[i] = i;
    given[bytes - 1] = 201;
    const back = new Uint8Array(bytes);
    const [stream, other] = [one.stream(), one.stream()];
    stream.write(from, given);
    stream.copy(from, to, bytes);
    other.wait(stream.mark());
    other.read(to, back.subarray(0, bytes - 7));
    other.read(to, back.subarray(bytes - 8), bytes - 8);
    await other.mark().done;
    expect(Buffer.compare(given, back)).toBe(0);
  });

  test('a write from an array waits for the read into it', async (ctx) => {
    const one = await device(ctx, how);
    const bytes = 3 * 2 ** 20;
    const [from, to] = [await one.alloc(bytes), await one.alloc(5 * bytes)];
    const array = new Uint8Array(bytes);
    const stream = one.stream();
    for (let k = 0; k < 5; k++) {
      stream.fill(from, 0x0101_0101 * (k + 1));
      stream.read(from, array);
      stream.write(to, array, k * bytes);
    }
    const all = new Uint8Array(5 * bytes);
    stream.read(to, all);
    await stream.mark().done;
    expect([0, 1, 2, 3, 4].map((k) => [all[k * bytes], all[(k + 1) * bytes - 1]])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
      [5, 5],
    ]);
  });

  test('host memory is zeroed, transfers both ways, and stays readable after close', async (ctx) => {
    const one = await device(ctx, how);
    const host = await one.host(2 ** 20);
    expect(host.locked).toBe(how === 'as a GPU');
    expect(host.bytes.length).toBe(2 ** 20);
    expect(host.bytes.every((byte) => byte === 0)).toBe(true);
    host.bytes.forEach((_, i) => {
      host.bytes[i] = i * 7;
    });
    const buffer = await one.alloc(2 ** 20);
    const stream = one.stream();
    stream.write(buffer, host.bytes.subarray(4096), 4096);
    stream.read(buffer, host.bytes.subarray(0, 8192));
    await stream.mark().done;
    expect(host.bytes.subarray(0, 4096).every((byte) => byte === 0)).toBe(true);
    expect(host.bytes.subarray(4096).every((byte, i) => byte === (((i + 4096) * 7) & 255))).toBe(true);
    const little = await one.host(5000);
    stream.read(buffer, little.bytes, 4096);
    await stream.mark().done;
    await one.close();
    expect(host.bytes[4097]).toBe((4097 * 7) & 255);
    expect(little.bytes[4999]).toBe(((4096 + 4999) * 7) & 255);
    host.free();
    little.free();
  });

  test('small host allocations share one mapping', async (ctx) => {
    const one = await device(ctx, how);
    const maps = async (): Promise<number> =>
      (await one.telemetry()).calls.find(({ name }) => name === 'clEnqueueMapBuffer')?.calls ?? 0;
    const before = await maps();
    const pieces = await Promise.all(Array.from({ length: 24 }, () => one.host(32_784)));
    expect(await maps()).toBe(before + (how === 'as a GPU' ? 1 : 0));
    for (const [k, { bytes }] of pieces.entries()) bytes.fill(k);
    for (const [k, { bytes }] of pieces.entries()) expect(new Set(bytes)).toEqual(new Set([k]));
  });

  test('free releases host memory after its transfers and detaches its views', async (ctx) => {
    const one = await device(ctx, how);
    const unmaps = async (): Promise<number> =>
      (await one.telemetry()).calls.find(({ name }) => name === 'clEnqueueUnmapMemObject')?.calls ?? 0;
    const buffer = await one.alloc(2 ** 20);
    const stream = one.stream();
    for (let k = 1; k <= 3; k++) {
      const host = await one.host(2 ** 20);
      host.bytes.fill(k);
      stream.write(buffer, host.bytes);
      const { done } = stream.mark();
      await done;
      host.free();
      host.free();
      expect(host.bytes.length).toBe(how === 'as a GPU' ? 0 : 2 ** 20);
      await expect.poll(unmaps).toBe(how === 'as a GPU' ? k : 0);
    }
    const into = new Uint8Array(2 ** 20);
    stream.read(buffer, into);
    await stream.mark().done;
    expect(new Set(into)).toEqual(new Set([3]));
    // Small allocations share a region and are reused.
    const maps = async (): Promise<number> =>
      (await one.telemetry()).calls.find(({ name }) => name === 'clEnqueueMapBuffer')?.calls ?? 0;
    (await one.host(2 ** 16)).free();
    const before = await maps();
    for (let k = 0; k < 100; k++) (await one.host(2 ** 16)).free();
    expect(await maps()).toBe(before);
  });

  test.skipIf(isShort && how === 'as a GPU')(
    'releases a closed program, even if its tables are still being copied',
    async (ctx) => {
      const one = await device(ctx, how);
      const released = async (): Promise<number> =>
        (await one.telemetry()).calls.find(({ name }) => name === 'clReleaseKernel')?.calls ?? 0;
      const entries = Uint32Array.from({ length: 4096 }, (_, i) => i * i);
      const looks = items('looks', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
        buffers.x.set(item, table('u32', [...entries]).at(item.and(4095)));
      });
      for (let k = 1; k <= 3; k++) {
        (await one.compile(looks)).close();
        await expect.poll(released).toBe(k);
      }
      const x = await one.alloc(64);
      const stream = one.stream();
      const program = await one.compile(looks);
      const into = new Uint32Array(16);
      stream.launch({ job: program.bind({}), count: 16, buffers: { x } });
      stream.read(x, into);
      const { done } = stream.mark();
      program.close();
      await done;
      expect([...into]).toEqual([...entries.subarray(0, 16)]);
      await expect.poll(released).toBe(4);
    },
  );

  test('releases memory of the driver when its views are collected', async (ctx) => {
    const one = await device(ctx, how);
    await one.host(2 ** 20); // without a reference
    const unmapped = async () => (await one.telemetry()).calls.some(({ name }) => name === 'clEnqueueUnmapMemObject');
    if (how === 'as it is') return expect(await unmapped()).toBe(false);
    for (let i = 0; i < 100 && !(await unmapped()); i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(await unmapped()).toBe(true);
  });

  test('a short launch overtakes a long one of another stream, without blocking waits', async (ctx) => {
    const one = await device(ctx, how);
    const program = await one.compile(spin);
    const [x, y] = [await one.alloc(64), await one.alloc(64)];
    const [long, short] = [one.stream(), one.stream()];
    long.launch({ job: program.bind({ steps: 10_000 }), count: 2 ** 31, buffers: { x } });
    const never = long.mark();
    const order: string[] = [];
    void never.done.then(
      () => order.push('long'),
      () => order.push('long'),
    );
    for (let i = 0; i < 5; i++) {
      short.launch({ job: program.bind({ steps: 2 }), count: 16, buffers: { x: y } });
      const words = new Uint32Array(16);
      short.read(y, words);
      expect((await short.mark().done).complete).toBe(true);
      expect(words[3]).toBe((3 * 5 + 1) * 5 + 1);
      order.push('short');
    }
    expect(order).toEqual(['short', 'short', 'short', 'short', 'short']);
    long.cancel();
    expect((await never.done).complete).toBe(false);
    const { blockingWaits, launches, calls } = await one.telemetry();
    expect(blockingWaits).toBe(0);
    expect(launches).toBe(6);
    expect(calls.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['clEnqueueNDRangeKernel', 'clGetEventInfo', 'clFlush', 'clCreateBuffer']),
    );
    expect(calls.some(({ name }) => name === 'clFinish')).toBe(false);
  });

  test.skipIf(isShort && how === 'as a GPU')(
    'a cancelled stream runs its next launch completely, repeatedly',
    async (ctx) => {
      const one = await device(ctx, how);
      const program = await one.compile(spin);
      const x = await one.alloc(64);
      const stream = one.stream();
      for (let i = 0; i < 10; i++) {
        stream.launch({ job: program.bind({ steps: 1000 }), count: 2 ** 31, buffers: { x } });
        const stopped = stream.mark();
        if (i % 2 === 0) await new Promise((resolve) => setTimeout(resolve, i));
        stream.cancel();
        stream.launch({ job: program.bind({ steps: 1 }), count: 16, buffers: { x } });
        const words = new Uint32Array(16);
        stream.read(x, words);
        const whole = stream.mark();
        expect((await stopped.done).complete).toBe(false);
        expect((await whole.done).complete).toBe(true);
        expect([...words]).toEqual(Array.from({ length: 16 }, (_, k) => 5 * k + 1));
      }
    },
  );
});
