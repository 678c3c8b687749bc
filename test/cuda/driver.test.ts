import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addressOf } from '../../src/device/native/libc.js';
import { launchBlock } from '../../src/kernel/abi/grid.js';
import { lowerGpu } from '../../src/kernel/abi/lower-gpu.js';
import { items, JobParameters, read, rw, table, tiles, u32 } from '../../src/kernel/index.js';
import {
  closeDrivers,
  EPOCH,
  hostOf,
  locked,
  openDriver as open,
  plain,
  reset,
  sent,
  settled,
  sourceOf,
} from './driver-rig.js';
import { buildFake, type Fake } from './fake.js';

/** The driver alone against the fake libcuda: memory, transfers, launches. Faults are in driver-faults.test.ts. */

const built = await buildFake();
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());

/** y[i] = 3 x[i] + by + an entry of a table. */
const triple = items(
  'triple',
  { job: { by: u32 }, buffers: { x: read('u32'), y: rw('u32') } },
  ({ item, buffers, job }) => {
    buffers.y.set(
      item,
      buffers.x
        .at(item)
        .mul(3)
        .add(job.by)
        .add(table('u32', [5, 6, 7, 8]).at(item.and(3))),
    );
  },
);

describe.skipIf(missing !== undefined)(`the CUDA driver on the fake${missing ? `: ${missing}` : ''}`, () => {
  beforeEach(() => reset(fake));
  afterEach(() => {
    closeDrivers();
    expect(fake.calls().filter(({ name }) => name === 'MISUSE')).toEqual([]);
  });
  const names = (): string[] => fake.calls().map(({ name }) => name);

  test('describes the GPU', () => {
    const { info } = open();
    expect(info).toMatchObject({
      id: 'cuda:0',
      kind: 'cuda',
      processor: 'gpu',
      name: 'Fake GPU 0',
      memoryBytes: 2 ** 30,
      units: 2,
      capabilities: ['u64', 'f64', 'exact-floats', 'atomics', 'sm_90'],
      versions: { cuda: '13.0' },
    });
    expect(info.details).toMatchObject({
      'compute capability': '9.0',
      'PCI bus': '0000:1b:00.0',
      clock: '1980 MHz',
    });
  });

  test('reads sensors by the PCI bus id', () => {
    expect(open().sensors()).toEqual({
      temperatureC: 61,
      powerW: 412.5,
      powerLimitW: 700,
      utilisation: 0.97,
      memoryUtilisation: 0.12,
      clockMHz: 1980,
      memoryClockMHz: 3201,
      memoryUsedBytes: 123456789,
      energyJ: expect.any(Number),
    });
  });

  test.for(['pooled', 'plain'])('allocates zeroed memory (%s)', async (kind) => {
    fake.set('pools', kind === 'pooled' ? 1 : 0);
    const driver = open();
    const line = driver.openLine(0, EPOCH);
    const memory = driver.alloc(2 ** 21);
    const into = new Uint8Array(2 ** 21).fill(9);
    driver.begin(line);
    await sent(() => driver.read(line, memory, 0, plain(into)));
    await settled(driver, driver.mark(line));
    expect(into.every((byte) => byte === 0)).toBe(true);
    driver.free(memory);
    expect(names()).toContain(kind === 'pooled' ? 'cuMemFreeAsync' : 'cuMemFree');
  });

  test('copies bytes through staging, in order with other commands', async () => {
    const driver = open();
    const line = driver.openLine(0, EPOCH);
    const bytes = 40 * 2 ** 20 + 12; // more than the ring holds
    const from = new Uint8Array(bytes);
    for (let i = 0; i < bytes; i += 97) from[i] = i;
    const expected = from.slice();
    const into = new Uint8Array(bytes);
    const memory = driver.alloc(bytes + 4);
    driver.begin(line);
    await sent(() => driver.write(line, memory, 0, plain(from)));
    await sent(() => driver.fill(line, memory, 16, 0xdeadbeef, 8));
    await sent(() => driver.read(line, memory, 0, plain(into)));
    // Bytes that were read are written again: the host's copy must not overtake the device's.
    await sent(() => driver.write(line, memory, 4, plain(into)));
    await sent(() => driver.read(line, memory, 4, plain(from)));
    const result = await settled(driver, driver.mark(line));
    expect(result.kind).toBe('passed');
    new Uint32Array(expected.buffer, 16, 2).fill(0xdeadbeef);
    expect(Buffer.compare(into, expected)).toBe(0);
    expect(Buffer.compare(from, expected)).toBe(0);
  });

  test('copies locked bytes without staging', async () => {
    const driver = open();
    const line = driver.openLine(0, EPOCH);
    const shared = driver.lock(2 ** 18)!;
    const { buffer, byteOffset } = shared.bytes;
    expect(buffer).toBeInstanceOf(SharedArrayBuffer);
    const [from, into] = [new Uint32Array(buffer, byteOffset, 1024), new Uint32Array(buffer, byteOffset + 4096, 1024)];
    from.forEach((_, i) => {
      from[i] = i * i;
    });
    const memory = driver.alloc(4096);
    fake.clearCalls();
    driver.begin(line);
    expect(driver.write(line, memory, 0, locked(from))).toBe(true);
    expect(driver.read(line, memory, 0, locked(into))).toBe(true);
    await settled(driver, driver.mark(line));
    expect(into).toEqual(from);
    const copies = fake.calls().filter(({ name }) => name.startsWith('cuMemcpy'));
    expect(copies.map(({ name }) => name)).toEqual(['cuMemcpyHtoDAsync', 'cuMemcpyDtoHAsync']);
    expect(copies[0]!.text).toContain(` 0x${addressOf(from).toString(16)} 4096 `);
    driver.unlock(shared);
    expect(names()).toContain('cuMemHostUnregister');
  });

  test('registers small allocations together, and reuses them', () => {
    const driver = open();
    const count = (name: string): number => names().filter((own) => own === name).length;
    const before = count('cuMemHostRegister');
    const pieces = Array.from({ length: 24 }, () => driver.lock(32_784)!);
    expect(count('cuMemHostRegister')).toBe(before + 1);
    expect(pieces.map(({ bytes }) => bytes.length)).toEqual(pieces.map(() => 32_784));
    expect(new Set(pieces.map(({ address }) => address % 256))).toEqual(new Set([0]));
    expect(addressOf(pieces[7]!.bytes)).toBe(pieces[7]!.address);
    pieces[7]!.bytes.fill(9);
    for (const piece of pieces.splice(4, 8)) driver.unlock(piece);
    pieces.push(...Array.from({ length: 8 }, () => driver.lock(32_784)!));
    expect(new Set(pieces.flatMap(({ bytes }) => [...bytes]))).toEqual(new Set([0]));
    expect(count('cuMemHostRegister')).toBe(before + 1);
    expect(count('cuMemHostUnregister')).toBe(0);
    driver.close();
    expect(count('cuMemHostUnregister')).toBe(before + 1);
  });

  test('stages memory it cannot register, and allocates its own words from the driver', async () => {
    fake.set('register', 0);
    const host = hostOf();
    const driver = open(host);
    expect(driver.lock(64)).toBe(undefined);
    host.words[EPOCH] = 5;
    const line = driver.openLine(0, EPOCH);
    const program = driver.load(sourceOf(triple));
    const [x, y] = [driver.alloc(4096), driver.alloc(4096)];
    const block = launchBlock(program.shape, { count: 1024, epoch: 5, bytes: [4096, 4096] }, sourceOf(triple).words(1));
    driver.launch(line, { program, block, epoch: 5, count: 1024, buffers: [x, y] });
    expect(await settled(driver, driver.mark(line))).toMatchObject({ kind: 'passed', complete: true });
    driver.cancel(line, 6);
    driver.launch(line, { program, block, epoch: 5, count: 1024, buffers: [x, y] });
    expect(await settled(driver, driver.mark(line))).toMatchObject({ kind: 'passed', complete: false });
    expect(names()).toContain('cuMemHostAlloc');
  });

  test('launches with block, tables, buffers and a count from memory', async () => {
    const host = hostOf();
    const driver = open(host);
    const line = driver.openLine(0, EPOCH);
    const source = sourceOf(triple);
    const program = driver.load(source);
    expect(host.lines.some((text) => /kernel triple: 32 registers.*4 workgroups at a time/.test(text))).toBe(true);
    const count = 5000;
    const [x, y, number] = [driver.alloc(4 * count), driver.alloc(4 * count), driver.alloc(16)];
    const values = Uint32Array.from({ length: count }, (_, i) => i * 7);
    const into = new Uint32Array(count);
    driver.begin(line);
    await sent(() => driver.write(line, x, 0, plain(values)));
    await sent(() => driver.fill(line, number, 4, 3000, 4));
    const block = launchBlock(program.shape, { count, epoch: 0, bytes: [4 * count, 4 * count] }, source.words(100));
    const launch = { program, block, epoch: 0, count, buffers: [x, y], countFrom: { memory: number, offset: 4 } };
    expect(driver.launch(line, launch)).toBe(true);
    block.fill(0xffff_ffff); // the driver has copied it
    await sent(() => driver.read(line, y, 0, plain(into)));
    const result = await settled(driver, driver.mark(line));
    expect(result).toMatchObject({ kind: 'passed', complete: true });
    if (result.kind === 'passed') expect(result.endedNs).toBeGreaterThan(result.startedNs);
    expect(into).toEqual(values.map((value, i) => (i < 3000 ? value * 3 + 100 + 5 + (i & 3) : 0)));
    const launched = fake.calls().find(({ name }) => name === 'cuLaunchKernel');
    expect(launched?.text).toMatch(/^4,1,1 of 256,1,1 shared 0 on/);
  });

  test('loads PTX if NVRTC is older than the GPU', async () => {
    const driver = open();
    const line = driver.openLine(0, EPOCH);
    const source = sourceOf(triple, { ptx: true });
    const program = driver.load(source);
    const [x, y] = [driver.alloc(4096), driver.alloc(4096)];
    const block = launchBlock(program.shape, { count: 4, epoch: 0, bytes: [4096, 4096] }, source.words(9));
    const into = new Uint32Array(4);
    driver.launch(line, { program, block, epoch: 0, count: 4, buffers: [x, y] });
    await sent(() => driver.read(line, y, 0, plain(into)));
    await settled(driver, driver.mark(line));
    expect([...into]).toEqual([14, 15, 16, 17]);
    expect(fake.calls().find(({ name }) => name === 'cuModuleLoadData')?.text).toBe('FAKE PTX = 0');
  });

  test('copies a block that is too long to pass by value', async () => {
    const long = items(
      'long',
      { job: { by: u32, list: [u32, 950] }, buffers: { y: rw('u32') } },
      ({ item, buffers, job }) => buffers.y.set(item, table('u32', job.list).at(item).add(job.by)),
    );
    const lowered = lowerGpu(long, { target: 'cuda' });
    expect(lowered.shape.launch.byValue).toBe(false);
    const driver = open();
    const line = driver.openLine(0, EPOCH);
    const program = driver.load(sourceOf(long));
    const y = driver.alloc(4 * 950);
    const into = new Uint32Array(950);
    for (const by of [1, 2, 3]) {
      const list = Array.from({ length: 950 }, (_, i) => i * 10 * by);
      const words = new JobParameters(lowered.program, { by, list }).words(0n, 0, {});
      const block = launchBlock(program.shape, { count: 950, epoch: 0, bytes: [4 * 950] }, words);
      driver.begin(line);
      await sent(() => driver.launch(line, { program, block, epoch: 0, count: 950, buffers: [y] }));
      await sent(() => driver.read(line, y, 0, plain(into)));
      await settled(driver, driver.mark(line));
      expect([...into]).toEqual(list.map((value) => value + by));
    }
  });

  test('runs workgroups with more shared memory than a static declaration allows', async () => {
    const sums = tiles(
      'sums',
      { job: { by: u32 }, buffers: { x: read('u32'), y: rw('u32') } },
      ({ tile, buffers, job, near, each }) => {
        const row = near('u32', 16_000);
        each(16_000, (i) => row.set(i, buffers.x.at(i).add(job.by)));
        each(1, () => buffers.y.set(tile, row.at(15_999).add(row.at(1))));
      },
    );
    const driver = open();
    const line = driver.openLine(0, EPOCH);
    const source = sourceOf(sums);
    expect(source.shape.dynamicBytes).toBeGreaterThan(48 * 1024);
    const program = driver.load(source);
    const [x, y] = [driver.alloc(64_000), driver.alloc(64)];
    const into = new Uint32Array(3);
    driver.begin(line);
    await sent(() => driver.write(line, x, 0, plain(Uint32Array.from({ length: 16_000 }, (_, i) => i))));
    const block = launchBlock(program.shape, { count: 3, epoch: 0, bytes: [64_000, 64] }, source.words(4));
    driver.launch(line, { program, block, epoch: 0, count: 3, buffers: [x, y] });
    await sent(() => driver.read(line, y, 0, plain(into)));
    await settled(driver, driver.mark(line));
    expect([...into]).toEqual([16_008, 16_008, 16_008]);
    const calls = fake.calls();
    expect(calls.find(({ name }) => name === 'cuFuncSetAttribute')?.text).toBe(`8 ${source.shape.dynamicBytes}`);
    expect(calls.find(({ name }) => name === 'cuLaunchKernel')?.text).toContain(`shared ${source.shape.dynamicBytes} `);
  });
});
