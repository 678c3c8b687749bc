import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addItems, handwritten, spin, trap, words } from '../../../test/handwritten.js';
import { processSize } from '../../../test/process-size.mjs';
import { Origin } from '../../kernel/language/origin.js';
import type { DeviceBuffer, Stream } from '../device.js';
import type { PoolProgram } from '../pool/program.js';
import { type NativeDevice, open, probe } from './device.js';

const found = await probe();
const absent = 'reason' in found ? found.reason : undefined;
if (absent) console.warn(`skipped, no native device: ${absent}`);

const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
process.env.MILLRACE_CACHE_DIR = cacheDirectory;
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));

describe.skipIf(absent)('native', () => {
  let device: NativeDevice;
  let stream: Stream;
  let add: PoolProgram;
  let slow: PoolProgram;
  beforeAll(async () => {
    device = await open('native', { threads: 3 }); // may exceed the cores: more interleavings
    [add, slow] = await Promise.all([device.load(addItems), device.load(spin)]);
  });
  afterAll(() => device?.close());
  beforeEach(() => {
    stream = device.stream();
    return () => stream.close();
  });

  const readAll = async (from: DeviceBuffer, on = stream): Promise<Uint8Array> => {
    const into = new Uint8Array(from.bytes);
    on.read(from, into);
    await on.mark().done;
    return into;
  };

  test('new memory is zero, whatever its size', async () => {
    for (const bytes of [0, 1, 3, 64, 4096, 4097, 70_001]) {
      const buffer = await device.alloc(bytes);
      expect(Buffer.compare(await readAll(buffer), new Uint8Array(bytes))).toBe(0);
      buffer.free();
    }
  });

  test('host memory is a buffer too', async () => {
    const host = await device.host(100);
    expect(host.buffer?.bytes).toBe(100);
    host.free();
  });

  test('transfers of odd sizes move only their bytes', async () => {
    const buffer = await device.alloc(5 * 2 ** 20 + 7);
    const model = new Uint8Array(buffer.bytes);
    for (const [offset, length] of [
      [0, 1],
      [4, 3],
      [8, 0],
      [12, 65],
      [100, 2 ** 20 + 1],
      [4 * 2 ** 20, 2 ** 20 + 7],
      [0, 5 * 2 ** 20 + 7],
    ] as const) {
      const data = new Uint8Array(length);
      for (let i = 0; i < length; i++) data[i] = (i * 7 + offset + 1) & 255;
      stream.write(buffer, data, offset);
      model.set(data, offset);
      const into = new Uint8Array(length + 2).fill(9);
      stream.read(buffer, into.subarray(1, length + 1), offset);
      await stream.mark().done;
      expect(Buffer.compare(into.subarray(1, length + 1), data)).toBe(0);
      expect([into[0], into[length + 1]]).toEqual([9, 9]);
    }
    expect(Buffer.compare(await readAll(buffer), model)).toBe(0);
    buffer.free();
  });

  test('transfers take views of any kind: small, offset, shared', async () => {
    const buffer = await device.alloc(64);
    stream.write(buffer, Uint8Array.of(1, 2, 3));
    stream.write(buffer, new DataView(Uint8Array.of(9, 9, 4, 5, 6, 9).buffer, 2, 3), 4);
    const shared = new Uint8Array(new SharedArrayBuffer(8)).fill(7);
    stream.write(buffer, shared, 8);
    stream.write(buffer, new Float64Array([1.5]), 16);
    const into = new Float64Array(1);
    stream.read(buffer, into, 16);
    const bytes = await readAll(buffer);
    expect([...bytes.slice(0, 16)]).toEqual([1, 2, 3, 0, 4, 5, 6, 0, 7, 7, 7, 7, 7, 7, 7, 7]);
    expect(into[0]).toBe(1.5);
  });

  test('fill and copy', async () => {
    const [a, b] = await Promise.all([device.alloc(3 * 2 ** 20), device.alloc(2 ** 20)]);
    stream.fill(a, 0xdeadbeef);
    stream.fill(a, -1, 8, 4);
    stream.copy(a, b, 16, 0, 4);
    stream.copy(a, a, 8, 4, 2 ** 20);
    const [bytesA, bytesB] = [await readAll(a), await readAll(b)];
    const wordsA = new Uint32Array(bytesA.buffer);
    const wordsB = new Uint32Array(bytesB.buffer);
    expect([...wordsA.slice(0, 4)]).toEqual([0xdeadbeef, 0xdeadbeef, 0xffffffff, 0xdeadbeef]);
    expect([wordsA[2 ** 18], wordsA[2 ** 18 + 1], wordsA.at(-1)]).toEqual([0xdeadbeef, 0xffffffff, 0xdeadbeef]);
    expect([...wordsB.slice(0, 6)]).toEqual([0, 0xdeadbeef, 0xdeadbeef, 0xffffffff, 0xdeadbeef, 0]);
    a.free();
    b.free();
  });

  test('a launch runs every item once, on all threads', async () => {
    const count = 3_000_001;
    const x = await device.alloc(count * 4);
    for (let round = 0; round < 3; round++) {
      stream.fill(x, 5);
      stream.launch({ job: add.bind({ value: 2 }), count, buffers: { x } });
      const out = new Uint32Array((await readAll(x)).buffer);
      expect(out.findIndex((value, i) => value !== 17 + i)).toBe(-1);
    }
    x.free();
  });

  test('random commands on several streams match sequential execution', async () => {
    const WORDS = 2000;
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('add' as const),
          value: fc.nat(99),
          count: fc.integer({ min: 0, max: WORDS }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('fill' as const), word: fc.nat(), at: fc.nat(WORDS - 1) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('write' as const), word: fc.nat(), at: fc.nat(WORDS - 1) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('take' as const), from: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('mark' as const) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('read' as const) }) },
    );
    const scenario = fc.array(fc.tuple(fc.nat(2), step), { minLength: 10, maxLength: 400 });
    const buffers = await Promise.all([0, 1, 2].map(() => device.alloc(WORDS * 4)));
    await fc.assert(
      fc.asyncProperty(scenario, async (steps) => {
        const streams = [0, 1, 2].map(() => device.stream());
        const model = [0, 1, 2].map(() => new Uint32Array(WORDS));
        const checks: { got: Uint32Array; want: Uint32Array }[] = [];
        for (const [i, each] of streams.entries()) each.fill(buffers[i]!, 0);
        for (const [on, s] of steps) {
          const [mine, x, memory] = [streams[on]!, buffers[on]!, model[on]!];
          switch (s.kind) {
            case 'add':
              mine.launch({ job: add.bind({ value: s.value }), count: s.count, buffers: { x } });
              for (let i = 0; i < s.count; i++) memory[i] = Math.imul(memory[i]!, 3) + i + s.value;
              break;
            case 'fill':
              mine.fill(x, s.word, s.at * 4);
              memory.fill(s.word, s.at);
              break;
            case 'write':
              mine.write(x, Uint32Array.of(s.word), s.at * 4);
              memory[s.at] = s.word;
              break;
            case 'take': // copies another stream's current memory; that stream continues only afterwards
              if (s.from === on) break;
              mine.wait(streams[s.from]!.mark());
              mine.copy(buffers[s.from]!, x, WORDS * 4);
              streams[s.from]!.wait(mine.mark());
              memory.set(model[s.from]!);
              break;
            case 'mark':
              mine.mark();
              break;
            case 'read': {
              const got = new Uint32Array(WORDS);
              mine.read(x, got);
              checks.push({ got, want: memory.slice() });
            }
          }
        }
        for (const [i, each] of streams.entries()) {
          const got = new Uint32Array(WORDS);
          each.read(buffers[i]!, got);
          checks.push({ got, want: model[i]! });
        }
        const reports = await Promise.all(streams.map((each) => each.mark().done));
        for (const report of reports) expect(report.complete).toBe(true);
        for (const { got, want } of checks) expect(got.join()).toBe(want.join());
        for (const each of streams) each.close();
      }),
      { numRuns: 25 },
    );
    for (const buffer of buffers) buffer.free();
  });

  test('more commands than the board holds keep their order', async () => {
    const x = await device.alloc(4);
    let want = 0;
    for (let i = 0; i < 2000; i++) {
      stream.launch({ job: add.bind({ value: i }), count: 1, buffers: { x } });
      want = (Math.imul(want, 3) + i) >>> 0;
    }
    expect(new Uint32Array((await readAll(x)).buffer)[0]).toBe(want);
    x.free();
  });

  test('device times follow each other', async () => {
    stream.launch({ job: slow.bind({ steps: 1000 }), count: 100 });
    const first = await stream.mark().done;
    const empty = await stream.mark().done;
    expect(first.endedNs).toBeGreaterThan(first.startedNs);
    expect(empty.startedNs).toBeGreaterThanOrEqual(first.endedNs);
    expect(empty.endedNs).toBeGreaterThanOrEqual(empty.startedNs);
  });

  test('cancel ends running and queued launches, and their marks report it', async () => {
    const job = slow.bind({ steps: 1000 });
    for (const delay of [0, 1, 20]) {
      for (let i = 0; i < 300; i++) stream.launch({ job, count: 2 ** 32 });
      const cancelled = stream.mark();
      await new Promise((resolve) => setTimeout(resolve, delay));
      stream.cancel();
      stream.launch({ job, count: 10 });
      const after = stream.mark();
      expect((await cancelled.done).complete).toBe(false);
      expect((await after.done).complete).toBe(true);
    }
  });

  test('cancelling a stream does not affect others', async () => {
    const other = device.stream();
    const job = slow.bind({ steps: 1000 });
    stream.launch({ job, count: 2 ** 32 });
    other.launch({ job, count: 5000 });
    const [mine, theirs] = [stream.mark(), other.mark()];
    stream.cancel();
    expect((await mine.done).complete).toBe(false);
    expect((await theirs.done).complete).toBe(true);
    other.close();
  });

  test('a stream that waits for incomplete work is incomplete itself', async () => {
    const other = device.stream();
    stream.launch({ job: slow.bind({ steps: 1000 }), count: 2 ** 32 });
    other.wait(stream.mark());
    const waiting = other.mark();
    stream.cancel();
    expect((await waiting.done).complete).toBe(false);
    expect((await other.mark().done).complete).toBe(true);
    other.close();
  });

  test('a trap fails its mark with the TypeScript line; the next mark is clean', async () => {
    const origin = Origin.here();
    const traps = await device.load({ ...trap, sites: [origin] });
    const x = await device.alloc(4);
    const other = device.stream();
    const into = Uint32Array.of(77);
    stream.launch({ job: traps.bind({}), count: 4 }); // item 5 is not in it
    expect((await stream.mark().done).complete).toBe(true);
    stream.launch({ job: traps.bind({}), count: 100 });
    stream.fill(x, 1);
    stream.read(x, into);
    const failed = stream.mark();
    other.wait(failed);
    const waiting = other.mark();
    stream.read(x, into);
    const clean = stream.mark();
    const error = await failed.done.catch((reason) => reason);
    expect(error).toMatchObject({ code: 'kernel-bounds' });
    expect(error.message).toMatch(/kernel trap: index 1234 is outside/);
    expect(error.message).toContain('device.test.ts');
    await expect(waiting.done).rejects.toMatchObject({ code: 'kernel-bounds' });
    expect((await clean.done).complete).toBe(true);
    expect(into[0]).toBe(0); // neither the fill nor the first read took place
    other.close();
  });

  test('the count can come from device memory', async () => {
    const [x, counts] = await Promise.all([device.alloc(400), device.alloc(8)]);
    const launch = (max: number) =>
      stream.launch({ job: add.bind({ value: 1 }), count: { buffer: counts, word: 1, max }, buffers: { x } });
    const touched = async (): Promise<number> =>
      new Uint32Array((await readAll(x)).buffer).filter((value) => value !== 0).length;
    stream.write(counts, Uint32Array.of(99, 7));
    launch(100);
    expect(await touched()).toBe(7);
    stream.fill(x, 0);
    launch(5);
    expect(await touched()).toBe(5);
    stream.fill(x, 0);
    stream.fill(counts, 0);
    launch(100);
    expect(await touched()).toBe(0);
    x.free();
    counts.free();
  });

  test('a buffer is freed after the commands that were queued on it', async () => {
    const x = await device.alloc(4 * 2 ** 20);
    stream.launch({ job: slow.bind({ steps: 1000 }), count: 2000 });
    stream.fill(x, 7);
    const into = new Uint32Array(2 ** 20);
    stream.read(x, into);
    x.free();
    await stream.mark().done;
    expect(into.every((word) => word === 7)).toBe(true);
    expect(() => stream.fill(x, 1)).toThrow(/freed/);
    const busy = await device.alloc(64);
    stream.fill(busy, 1);
    busy.free(); // must be freed although no mark follows
    busy.free();
  });

  test('commands reach memory beyond 4 GiB', async ({ skip }) => {
    const bytes = 5 * 2 ** 30;
    if (device.info.memoryBytes < bytes + 2 ** 28) return skip('needs a machine with more than 5 GiB');
    const x = await device.alloc(bytes);
    const far = await device.load(
      handwritten(
        'far',
        `uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end) {
  uint32_t *x = (uint32_t *)launch[3];
  const uint64_t words = launch[4] / 4;
  for (uint64_t i = begin; i < end; i++) x[words - 1 - i] = (uint32_t)i + 1;
  return end - begin;
}`,
        { bindings: words('x') },
      ),
    );
    stream.launch({ job: far.bind({}), count: 10, buffers: { x } });
    const tail = new Uint32Array(12);
    stream.read(x, tail, bytes - 48);
    stream.write(x, Uint32Array.of(0x12345678), 2 ** 32 + 4);
    stream.copy(x, x, 4, 2 ** 32 + 4, 2 ** 32 - 4);
    stream.fill(x, 42, 2 ** 32 + 64, 8);
    const middle = new Uint32Array(3);
    stream.read(x, middle.subarray(0, 1), 2 ** 32 - 4);
    stream.read(x, middle.subarray(1), 2 ** 32 + 68);
    await stream.mark().done;
    expect([...tail]).toEqual([0, 0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect([...middle]).toEqual([0x12345678, 42, 0]);
    x.free();
  });

  test('rejects more memory than the machine has', async () => {
    const total = device.info.memoryBytes;
    await expect(device.alloc(total * 2)).rejects.toMatchObject({ code: 'device-memory' });
    const large = await device.alloc(Math.floor(total * 0.75));
    const error = await device.alloc(Math.floor(total * 0.75)).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'device-memory' });
    expect(error.message).toMatch(/asked: +alloc\(\d+\); [\d.]+ \w+ are allocated, [\d.]+ \w+ of [\d.]+ \w+ are free/);
    large.free();
    (await device.alloc(Math.floor(total * 0.75))).free();
  });

  test('33 streams are too many; a closed one makes room once its work is done', async () => {
    const streams = Array.from({ length: 31 }, () => device.stream());
    expect(() => device.stream()).toThrow(/all 32 streams of device native are open/);
    const last = streams.pop()!;
    last.launch({ job: slow.bind({ steps: 1000 }), count: 1000 });
    const done = last.mark();
    last.close();
    expect(() => last.mark()).toThrow(/this stream has been closed/);
    expect((await done.done).complete).toBe(true);
    const again = device.stream();
    expect((await again.mark().done).complete).toBe(true);
    for (const each of [...streams, again]) each.close();
  });

  test('close rejects work in flight', async () => {
    const own = await open('native', { threads: 2 });
    const [a, b] = [own.stream(), own.stream()];
    const program = await own.load(spin);
    const job = program.bind({ steps: 1000 });
    const x = await own.alloc(2 ** 24);
    for (let i = 0; i < 600; i++) a.launch({ job, count: 2 ** 32 });
    b.fill(x, 1);
    b.launch({ job, count: 2 ** 32 });
    const marks = [a.mark(), b.mark()];
    b.mark(); // its result is never awaited
    await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([own.close(), own.close()]);
    for (const mark of marks) await expect(mark.done).rejects.toMatchObject({ code: 'device-closed' });
    expect(() => a.mark()).toThrow(/has been closed/);
    expect(() => own.stream()).toThrow(/has been closed/);
    await expect(own.alloc(4)).rejects.toMatchObject({ code: 'device-closed' });
    await expect(own.load(spin)).rejects.toMatchObject({ code: 'device-closed' });
    expect(() => stream.wait(marks[0]!)).toThrow(/only for completions of its own device/);
  });

  /** Mappings of a program's library. */
  const mapped = (path: string): number =>
    readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .filter((line) => line.endsWith(path)).length;
  const libraries = (): string[] => [
    ...new Set(readFileSync('/proc/self/maps', 'utf8').match(/\/\S*kernel\.so$/gm) ?? []),
  ];

  test.runIf(process.platform === 'linux')('code stays mapped only while it may run', async () => {
    const own = await open('native', { threads: 2 });
    const before = new Set(libraries());
    const numbered = (n: number) => ({ ...addItems, text: `${addItems.text}// ${n} of those that go\n` });
    const compileHere = async (n: number) => {
      const program = await own.load(numbered(n));
      const path = libraries().find((library) => !before.has(library)) ?? '';
      before.add(path);
      expect(mapped(path)).toBeGreaterThan(0);
      return { program, path };
    };
    // Closed, with a launch queued behind a slow one.
    const [closed, slowly] = [await compileHere(1), await own.load(spin)];
    const mine = own.stream();
    const x = await own.alloc(64);
    mine.launch({ job: slowly.bind({}), count: 2 ** 32 });
    mine.launch({ job: closed.program.bind({}), count: 16, buffers: { x } });
    const done = mine.mark();
    closed.program.close();
    expect(mapped(closed.path)).toBeGreaterThan(0);
    mine.cancel();
    expect((await done.done).complete).toBe(false);
    await expect.poll(() => mapped(closed.path)).toBe(0);
    // Dropped: garbage collection unmaps it.
    const dropped = await (async () => (await compileHere(2)).path)();
    const afterGarbage = async (): Promise<number> => {
      await processSize();
      return mapped(dropped);
    };
    await expect.poll(afterGarbage, { timeout: 10_000 }).toBe(0);
    // The same text twice: closing the first keeps the second mapped.
    const [one, two] = [await compileHere(3), await own.load(numbered(3))];
    one.program.close();
    expect(mapped(one.path)).toBeGreaterThan(0);
    two.close();
    expect(mapped(one.path)).toBe(0);
    // Closing the device unmaps the rest.
    const left = await compileHere(4);
    await own.close();
    expect(mapped(left.path)).toBe(0);
    left.program.close();
  });

  test('a worker that dies fails the work in flight', async () => {
    const own = await open('native', { threads: 2 });
    const program = await own.load(spin);
    const mine = own.stream();
    Object.assign(program.code, { entry: 0.5 }); // not an address: the worker throws
    mine.launch({ job: program.bind({}), count: 10 });
    const error = await mine.mark().done.catch((reason) => reason);
    expect(error).toMatchObject({ code: 'device-failed' });
    expect(() => mine.mark()).toThrow(/worker thread of device native died/);
    await own.close();
  });
});

test('rejects invalid numbers of threads and an unknown device number', async ({ skip }) => {
  if (absent) return skip(absent);
  for (const threads of [0, -1, 1.5, 1e9])
    await expect(open('native', { threads })).rejects.toMatchObject({ code: 'usage' });
  await expect(open('native:3')).rejects.toMatchObject({ code: 'device-absent' });
});
