import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { Engine, type FaultSpec, type VirtualDevice, virtualDevices } from '../src/engine/index.js';
import type { Job } from '../src/engine/job.js';
import { Recorder } from '../src/engine/telemetry/record.js';
import { items, MillraceError, read, rw, u32 } from '../src/kernel/index.js';
import { fillFromDevices } from '../src/workload/words/generator/fill-job.js';
import { PooledFlow } from '../src/workload/words/generator/pooled-flow.js';
import { wordsTunable } from '../src/workload/words/generator/tune.js';
import {
  createGenerator,
  deviceCount,
  deviceProperties,
  everyGpu,
  type Generator,
  type GeneratorOptions,
  isCudaAvailable,
  type Layout,
  Status,
  type StatusCode,
  WordsError,
  wordsVersion,
} from '../src/workload/words/index.js';
import { Plan } from '../src/workload/words/kernel/plan.js';
import { parseMask } from '../src/workload/words/space/mask.js';
import { byTier, isShort } from './tier.js';

const lower = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

let device: Device;
beforeAll(async () => {
  const { devices } = await listDevices();
  device = await openDevice(devices.some(({ id }) => id === 'native') ? 'native' : 'wasm');
});
afterAll(() => device?.close());

const opened: Generator[] = [];
async function generator(options: GeneratorOptions = {}): Promise<Generator> {
  const made = await createGenerator({ devices: device, ...options });
  opened.push(made);
  return made;
}
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

/** Six letters and four digits, as in the recorded digests. */
function configured(words: Generator, layout: Layout = 'packed'): Generator {
  words.setCharset(1, lower);
  words.setCharset(2, digits);
  words.setMask([1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
  words.setFormat(layout);
  return words;
}

async function rejects(status: StatusCode, act: () => unknown, message?: string): Promise<void> {
  const error = await (async () => act())().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WordsError);
  expect((error as WordsError).status).toBe(status);
  if (message !== undefined) expect((error as WordsError).message).toContain(message);
}

describe('the functions', () => {
  test('set charsets, mask and format; give keyspace and buffer size', async () => {
    const words = await generator();
    expect([words.keyspace, words.bufferSize(10), words.format]).toEqual([0n, 0, 'newline']);
    words.setCharset(200, Uint8Array.from([0x61, 0x62, 0x61]));
    words.setCharset(7, '12');
    words.setMask([200, 7, 200]);
    expect(words.keyspace).toBe(8n);
    expect(words.bufferSize(8)).toBe(32);
    words.setFormat('packed');
    expect(words.bufferSize(8)).toBe(24);
    words.setCharset(7, '123'); // changes the charset in the mask too
    expect(words.keyspace).toBe(12n);
    expect(words.devices.map(({ id }) => id)).toEqual([device.info.id]);
  });

  test('give an exact keyspace beyond 2^64', async () => {
    const words = await generator();
    words.setCharset(1, lower);
    words.setMask(new Uint8Array(30).fill(1));
    expect(words.keyspace).toBe(26n ** 30n);
    const index = 26n ** 29n - 5n;
    const into = new Uint8Array(words.bufferSize(10));
    await words.generate(index, 10, into);
    const lines = text(into).trimEnd().split('\n');
    expect(lines.map((line) => words.indexOf(line))).toEqual(lines.map((_, k) => index + BigInt(k)));
    expect(text(words.wordAt(index))).toBe(lines[0]);
  });

  test('write words to host memory, as in the examples', async () => {
    const words = await generator();
    words.setCharset(1, 'abc');
    words.setMask([1, 1]);
    const into = new Uint8Array(9);
    expect(await words.generate(3n, 3, into)).toBe(9);
    expect(text(into)).toBe('ba\nbb\nbc\n');
    expect(await words.generate(9n, 0, into)).toBe(0);
    words.setFormat('nul');
    await words.generate(0n, 3, into);
    expect(text(into)).toBe('aa\0ab\0ac\0');
  });

  test('give one batch as a view of the device’s memory', async () => {
    const words = configured(await generator());
    expect(await words.withBatch(0n, 1000, (bytes) => [bytes.length, text(bytes.subarray(0, 20))])).toEqual([
      10_000,
      'aaaaaa0000aaaaaa0001',
    ]);
    await rejects(Status.badParameter, () => words.withBatch(0n, 50_000_000, () => 0), 'a batch has 1 to');
  });

  test('give batches in order', async () => {
    const words = configured(await generator({ mode: 'async', batchBytes: 1 << 18 }));
    const hash = createHash('sha256');
    let next = 0n;
    for await (const batch of words.batches(0n, 1_000_000)) {
      expect(batch.start).toBe(next);
      next += BigInt(batch.count);
      hash.update(batch.bytes);
      batch.release();
    }
    expect(hash.digest('hex')).toBe('f41a70a1288fa6555fb6e61f3af5e3cfca4566fa5916ae575b3a7631f7a5e4c5');
  });

  test('make words on the device: a ring of two, events, the caller’s memory, a kernel that reads them', async () => {
    const words = configured(await generator(), 'newline');
    const stream = device.stream();
    const sums = items('sums', { buffers: { words: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      buffers.out.set(item, buffers.words.at(item).add(1));
    });
    const program = await device.compile(sums);
    const [first, second] = [await words.generateOnDevice(0n, 1000), await words.generateOnDevice(5n, 400)];
    expect(first).toMatchObject({ words: 1000, wordBytes: 10, stride: 11, bytes: 11_000, layout: 'newline' });
    expect(first.buffer).not.toBe(second.buffer);
    // A consumer on another stream waits for the event, and finds the words.
    stream.wait(first.ready);
    const out = await device.alloc(11_000);
    stream.launch({ job: program.bind({}), count: 2750, buffers: { words: first.buffer, out } });
    const plus = new Uint32Array(2750);
    stream.read(out, plus);
    await stream.mark().done;
    const into = new Uint8Array(11_000);
    await words.generate(0n, 1000, into);
    expect([...plus.map((x) => x - 1)]).toEqual([...new Uint32Array(into.buffer)]);
    // On the caller's stream and into the caller's memory.
    const own = await device.alloc(1 << 16);
    const batch = await words.generateOnStream(stream, 77n, 100, own);
    const copy = new Uint8Array(batch.bytes);
    stream.read(batch.buffer, copy);
    await stream.mark().done;
    expect(batch.buffer).toBe(own);
    expect(text(copy).split('\n')[0]).toBe('aaaaaa0077');
    batch.free(); // the caller's memory stays
    second.free();
    second.free();
    // The ring has wrapped twice: the fifth batch is in the first one's buffer.
    await words.generateOnDevice(0n, 10);
    expect((await words.generateOnDevice(0n, 10)).buffer).toBe(first.buffer);
    own.free();
    out.free();
    stream.close();
    await rejects(Status.bufferTooSmall, async () => words.generateOnDevice(0n, 5000, await device.alloc(16)));
  });

  test('list the devices', async () => {
    expect(wordsVersion()).toMatch(/^\d+\.\d+\.\d+/);
    const count = await deviceCount();
    const { devices } = await listDevices();
    expect(count).toBe(devices.length);
    expect(await isCudaAvailable()).toBe(devices.some(({ kind }) => kind === 'cuda'));
    expect(await deviceProperties(0)).toMatchObject({ id: devices[0]?.id, name: devices[0]?.name });
    await rejects(Status.badParameter, () => deviceProperties(count), `there are ${count} devices`);
    expect(await everyGpu()).toMatch(/^(auto|cuda|opencl|webgpu)/);
  });

  test('fail after close, which may be called twice', async () => {
    const words = configured(await generator());
    await words.close();
    await words.close();
    await rejects(Status.badHandle, () => words.setFormat('nul'), 'closed');
    await rejects(Status.badHandle, () => words.keyspace);
    await rejects(Status.badHandle, () => words.generate(0n, 1, new Uint8Array(10)));
    await rejects(Status.badHandle, () => words.generateOnDevice(0n, 1));
  });
});

describe('errors', () => {
  test.for<[string, StatusCode, (words: Generator) => unknown]>([
    ['charset 0', Status.badParameter, (words) => words.setCharset(0, 'ab')],
    ['charset 256', Status.badParameter, (words) => words.setCharset(256, 'ab')],
    ['an empty charset', Status.badParameter, (words) => words.setCharset(1, '')],
    ['a charset with a multibyte character', Status.badParameter, (words) => words.setCharset(1, 'a€')],
    ['an empty mask', Status.badParameter, (words) => words.setMask([])],
    ['a mask too long', Status.badParameter, (words) => words.setMask(new Array(257).fill(1))],
    ['an unknown charset', Status.badParameter, (words) => words.setMask([1, 9])],
    ['an unknown layout', Status.badParameter, (words) => words.setFormat('columns' as Layout)],
    ['no memory to write to', Status.badParameter, (words) => words.generate(0n, 1, undefined as never)],
    ['a negative count', Status.badParameter, (words) => words.generate(0n, -1, new Uint8Array(9))],
    ['too little memory', Status.bufferTooSmall, (words) => words.generate(0n, 2, new Uint8Array(19))],
    ['a negative index', Status.outOfRange, (words) => words.generate(-1n, 1, new Uint8Array(99))],
    ['past the end', Status.outOfRange, (words) => words.generate(words.keyspace - 1n, 2, new Uint8Array(99))],
    ['a device batch past the end', Status.outOfRange, (words) => words.generateOnDevice(words.keyspace, 1)],
    ['batches past the end', Status.outOfRange, (words) => words.batches(words.keyspace, 1).next()],
    ['a word past the end', Status.outOfRange, (words) => words.wordAt(words.keyspace)],
    ['an empty device batch', Status.badParameter, (words) => words.generateOnDevice(0n, 0)],
    ['a device batch too large', Status.badParameter, (words) => words.generateOnDevice(0n, 2 ** 32)],
  ])('%s', async ([, status, act]) => {
    const words = configured(await generator());
    await rejects(status, () => act(words));
    expect(words.lastError?.status).toBe(status);
    words.setFormat('packed');
    expect(words.lastError).toBeUndefined();
    await words.close();
  });

  test('no mask', async () => {
    const words = await generator();
    await rejects(Status.notConfigured, () => words.generate(0n, 1, new Uint8Array(9)));
    await rejects(Status.notConfigured, () => words.generateOnDevice(0n, 1));
    await rejects(Status.notConfigured, () => words.indexOf('a'));
  });

  test('no memory on the device, and a device that fails', async () => {
    const [full, gone] = virtualDevices(device, [{}, { disappearsAt: 0 }]) as [VirtualDevice, VirtualDevice];
    const words = configured(await generator({ devices: full }));
    full.alloc = () => Promise.reject(new MillraceError({ code: 'device-memory', message: 'no room for that' }));
    await rejects(Status.outOfMemory, () => words.generateOnDevice(0n, 1000), 'no room');
    await rejects(Status.outOfMemory, () => words.generate(0n, 1000, new Uint8Array(10_000)));
    const broken = configured(await generator({ devices: gone }));
    await rejects(Status.device, () => broken.generate(0n, 10, new Uint8Array(100)));
  });

  test('a missing device, a ring of one', async () => {
    await rejects(Status.device, () => createGenerator({ devices: 'cuda:99' }));
    await rejects(Status.badParameter, () => createGenerator({ devices: [] }), 'no device');
    await rejects(Status.badParameter, () => createGenerator({ devices: device, ringSize: 1 }), 'ring');
  });
});

describe('the same bytes come from', () => {
  /** Specs of `count` equal devices, except that the second is slow. */
  const specs = (count: number): FaultSpec[] =>
    Array.from({ length: count }, (_, at) => (at === 1 ? { speed: 400_000 } : {}));
  const expected = async (start: bigint, count: number): Promise<string> => {
    const words = configured(await generator());
    const into = new Uint8Array(10 * count);
    await words.generate(start, count, into);
    await words.close();
    return sha256(into);
  };

  test.each([4, 1000, 1_000_000])('sync and async, %d words', async (count) => {
    const digests = await Promise.all(
      (['sync', 'async'] as const).map(async (mode) => {
        const words = configured(await generator({ mode, batchBytes: 1 << 19 }));
        const into = new Uint8Array(words.bufferSize(count));
        expect(await words.generate(0n, count, into)).toBe(10 * count);
        return sha256(into);
      }),
    );
    expect(digests[0]).toBe(digests[1]);
    if (count === 1_000_000)
      expect(digests[0]).toBe('f41a70a1288fa6555fb6e61f3af5e3cfca4566fa5916ae575b3a7631f7a5e4c5');
  });

  test.skipIf(isShort)('sync and async, three times 10,000,000 words', async () => {
    const known = '35454ec8aa66489a37c006aa34cb8b0bec817f6d863afacda622c9a140d04967';
    const into = new Uint8Array(100_000_000);
    for (const mode of ['sync', 'async', 'async'] as const) {
      const words = configured(await generator({ mode }));
      into.fill(0);
      expect(await words.generate(0n, 10_000_000, into)).toBe(100_000_000);
      expect(sha256(into)).toBe(known);
      await words.close();
    }
  });

  test('any number of devices, any share, any chunk', async () => {
    const [start, count] = [123_456_789n, byTier(100_000, 300_000)];
    const digest = await expected(start, count);
    for (const devices of byTier([3], [1, 2, 3, 4])) {
      for (const share of ['pull', 'equal', 'measured'] as const) {
        for (const [mode, batchBytes] of [
          ['sync', 1 << 16],
          ['async', 1 << 16],
          ['async', 100_000],
        ] as const) {
          const made = virtualDevices(device, specs(devices));
          const words = configured(await generator({ devices: made, share, mode, batchBytes }));
          const into = new Uint8Array(10 * count);
          await words.generate(start, count, into);
          expect([devices, share, mode, sha256(into)]).toEqual([devices, share, mode, digest]);
          await words.close();
          expect(made.map(({ open }) => open)).toEqual(made.map(() => ({ buffers: 0, streams: 0, host: 0 })));
        }
      }
    }
  });

  test('a run in which a device disappears or garbles data', async () => {
    const [start, count] = [987_654_321n, 200_000];
    const digest = await expected(start, count);
    for (const fault of [{ disappearsAt: 3 }, { garblesAt: 2 }] as FaultSpec[]) {
      const made = virtualDevices(device, [{}, fault]);
      const words = configured(await generator({ devices: made, mode: 'async', batchBytes: 1 << 16 }));
      const into = new Uint8Array(10 * count);
      await words.generate(start, count, into);
      expect(sha256(into)).toBe(digest);
      await words.close();
    }
  });
});

describe('a job that fills memory', () => {
  const mask = parseMask('?d?d?d');
  const plan = new Plan(mask, 'canonical', '');
  const request = (into: Uint8Array) => ({
    flow: new PooledFlow(plan, 1000n),
    plan,
    reference: { mask, separator: '' },
    start: 40n,
    count: 3,
    into,
  });

  test('counts the bytes that are copied: none where kernels store to host memory', async () => {
    const [copying] = virtualDevices(device, [{}]) as [VirtualDevice];
    const copied = [];
    for (const one of [device, copying]) {
      const records = new Recorder(8);
      const engine = new Engine([one], { records });
      const into = new Uint8Array(9);
      const asked = request(into);
      await fillFromDevices(engine, asked);
      await engine.close();
      asked.flow.close();
      expect(text(into)).toBe('040041042');
      copied.push([...records].reduce((sum, { bytesToHost }) => sum + bytesToHost, 0));
    }
    expect(copied).toEqual([0, expect.toSatisfy((bytes: number) => bytes >= 9)]);
  });

  test('takes a part of a piece', async () => {
    let job: Job<Uint8Array> | undefined;
    const run = (asked: Job<Uint8Array>) => {
      job = asked;
      return { outcome: Promise.resolve({ kind: 'complete' }), drained: Promise.resolve() };
    };
    await fillFromDevices({ run } as unknown as Engine, request(new Uint8Array(9)));
    const bytes = Buffer.from('040041042');
    const part = job!.part({ start: 0n, count: 3 }, bytes, { start: 1n, count: 2 });
    expect(text(part)).toBe('041042');
  });
});

test.skipIf(isShort)('tuning reports the candidate that made a wrong word', async () => {
  const [garbled] = virtualDevices(device, [{ garblesAt: 0 }]);
  await expect(wordsTunable.audit(garbled!, { quads: 8 })).rejects.toMatchObject({
    code: 'device-failed',
    message: expect.stringMatching(/^candidate quads 8 made a wrong word on virtual:0: .*a`aaaaaaa/s),
  });
});

describe('long use', () => {
  test('thousands of small batches open and allocate nothing after the first ones', async () => {
    const [virtual] = virtualDevices(device, [{}]) as [VirtualDevice];
    const words = configured(await generator({ devices: virtual }));
    const into = new Uint8Array(10_000);
    for (let round = 0; round < 10; round++) await words.generate(BigInt(round), 1000, into);
    const before = { ...virtual.open, slots: words.slotsMade };
    let last = 0n;
    for (let round = 0; round < byTier(300, 10_000); round++) {
      last = BigInt(round * 997);
      await words.generate(last, 1000, into);
    }
    expect({ ...virtual.open, slots: words.slotsMade }).toEqual(before);
    expect(text(into.subarray(0, 10))).toBe(text(words.wordAt(last)));
    await words.close();
    expect(virtual.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });

  test('generators one after the other leave nothing behind', async () => {
    const [virtual] = virtualDevices(device, [{}]) as [VirtualDevice];
    for (let round = 0; round < byTier(20, 1000); round++) {
      const words = configured(await createGenerator({ devices: virtual, batchBytes: 1 << 14 }));
      await words.generate(BigInt(round), 5, new Uint8Array(50));
      if (round % 10 === 0) (await words.generateOnDevice(0n, 10)).free();
      await words.close();
    }
    expect(virtual.open).toEqual({ buffers: 0, streams: 0, host: 0 });
  });

  /** test/words/measure.mjs does this with page-locked memory, several contexts of a GPU and 1,000 rounds. */
  test('several devices fill the memory of one, round after round', async () => {
    const others = await Promise.all([openDevice(device.info.id), openDevice('wasm')]);
    const words = 640;
    const memory = await device.host(3 * words * 10);
    const rounds = byTier(10, 50, 1000);
    await Promise.all(
      [device, ...others].map(async (one, part) => {
        const own = configured(await generator({ devices: one }));
        const stream = one.stream();
        const into = memory.bytes.subarray(part * words * 10, (part + 1) * words * 10);
        for (let round = 0; round < rounds; round++) {
          const start = BigInt((3 * round + part) * words);
          const batch = await own.generateOnStream(stream, start, words);
          stream.read(batch.buffer, into);
          await stream.mark().done;
          expect(text(into.subarray(0, 10))).toBe(text(own.wordAt(start)));
          expect(text(into.subarray(-10))).toBe(text(own.wordAt(start + BigInt(words - 1))));
        }
        stream.close();
        await own.close();
      }),
    );
    memory.free();
    for (const one of others) await one.close();
  });

  test('many generators work at a time', async () => {
    const many = await Promise.all(Array.from({ length: byTier(60, 200) }, () => createGenerator({ devices: device })));
    for (const [at, words] of many.entries()) {
      words.setCharset(1, lower.slice(0, 1 + (at % 26)));
      words.setMask([1, 1, 1]);
    }
    const texts = await Promise.all(
      many.map(async (words) => {
        const into = new Uint8Array(4);
        await words.generate(words.keyspace - 1n, 1, into);
        return text(into);
      }),
    );
    expect(texts).toEqual(many.map((_, at) => `${(lower[at % 26] ?? '').repeat(3)}\n`));
    await Promise.all(many.map((words) => words.close()));
  });

  test('many batches requested at once each get their words', async () => {
    const words = configured(await generator({ mode: 'async' }));
    const all = Array.from({ length: 200 }, (_, at) => new Uint8Array(10 * (at + 1)));
    await Promise.all(all.map((into, at) => words.generate(BigInt(at * 1009), at + 1, into)));
    all.forEach((into, at) => {
      expect(text(into.subarray(0, 10))).toBe(text(words.wordAt(BigInt(at * 1009))));
      expect(text(into.subarray(-10))).toBe(text(words.wordAt(BigInt(at * 1010))));
    });
  });
});

test.skipIf(isShort)('the example finds the planted word', async () => {
  const file = fileURLToPath(new URL('../examples/words.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file, 'wasm']);
  expect(stdout).toBe('Acat2024 is word 13712024\n');
});
