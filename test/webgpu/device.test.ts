import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Random } from '../../src/device/conformance/model/random.js';
import type { Device } from '../../src/device/device.js';
import { openLink } from '../../src/device/gpu/host/device.js';
import { openDevice } from '../../src/device/registry.js';
import { probe, WebGpuDevice } from '../../src/device/webgpu/device.js';
import { atomic, cell, type Expr, items, loop, MillraceError, read, rw, tiles, when } from '../../src/kernel/index.js';
import { byTier } from '../tier.js';

/** Cases that the conformance suite does not have: slices, transfers of every size, device loss, out of memory. */
const probed = await probe();
const missing = 'reason' in probed ? probed.reason : undefined;
let device: Device;
beforeAll(async () => {
  if (!missing) device = await openDevice('webgpu', { telemetry: true });
});
afterAll(() => device?.close());

/** Counts visits of each item, modulo 1024, after some work that no compiler removes. */
const visits = items('visits', { job: { steps: 'u32' }, buffers: { seen: atomic() } }, ({ job, item, buffers }) => {
  const chain = cell('u32', item);
  loop(job.steps, () => chain.set(chain.mul(5).add(1)));
  when(chain.ne(0xffff_ffff), () => buffers.seen.add(item.and(1023), 1));
});

async function words(from: Device, buffer: Awaited<ReturnType<Device['alloc']>>): Promise<Uint32Array> {
  const all = new Uint32Array(buffer.bytes / 4);
  const stream = from.stream();
  stream.read(buffer, all);
  await stream.mark().done;
  stream.close();
  return all;
}

const submissions = async (): Promise<number> => {
  const { calls } = (await device.telemetry?.()) ?? { calls: [] };
  return calls.find(({ name }) => name === 'GPUQueue.submit')?.calls ?? 0;
};

describe.skipIf(missing)('a long launch runs in slices', () => {
  test.for([
    { what: 'a count by value', count: 1_000_003, counted: false },
    { what: 'a count from the device, below the maximum', count: 300_007, counted: true },
    { what: 'a count of 0 from the device', count: 0, counted: true },
  ])('that visit each item once: $what', async ({ count, counted }) => {
    const program = await device.compile(visits);
    const seen = await device.alloc(4096);
    const word = await device.alloc(16);
    const stream = device.stream();
    stream.write(word, Uint32Array.of(7, count));
    const before = await submissions();
    const from = { buffer: word, word: 1, max: 1_000_003 };
    stream.launch({ job: program.bind({ steps: 60 }), count: counted ? from : count, buffers: { seen } });
    expect((await stream.mark().done).complete).toBe(true);
    const wanted = Uint32Array.from({ length: 1024 }, (_, i) => Math.floor(count / 1024) + (i < count % 1024 ? 1 : 0));
    expect(await words(device, seen)).toEqual(wanted);
    // On a CPU it takes long enough to be split; a GPU runs it in one slice.
    if (device.info.processor === 'cpu' && count > 0) expect((await submissions()) - before).toBeGreaterThan(5);
    stream.close();
  });

  test('of tiles', async () => {
    const kernel = tiles('tiled', { buffers: { seen: atomic() } }, ({ tile, sum, once, buffers }) => {
      const total = sum('u32', 3000, (i) => i.xor(tile));
      when(total.ne(0xffff_ffff), () => once(() => buffers.seen.add(tile.and(1023), 1)));
    });
    const program = await device.compile(kernel, { lanes: 64 });
    const seen = await device.alloc(4096);
    const stream = device.stream();
    stream.launch({ job: program.bind({}), count: 2048, buffers: { seen } });
    await stream.mark().done;
    expect(await words(device, seen)).toEqual(new Uint32Array(1024).fill(2));
    stream.close();
  });

  test('so that other streams run meanwhile and it can be cancelled', async () => {
    const program = await device.compile(visits);
    const [seen, other] = [await device.alloc(4096), await device.alloc(4096)];
    const [endless, quick] = [device.stream(), device.stream()];
    endless.launch({ job: program.bind({ steps: 5000 }), count: 2 ** 32, buffers: { seen } });
    const never = endless.mark();
    for (let round = 0; round < 5; round++) {
      quick.launch({ job: program.bind({ steps: 1 }), count: 1024, buffers: { seen: other } });
      expect((await quick.mark().done).complete).toBe(true);
    }
    endless.cancel();
    expect((await never.done).complete).toBe(false);
    expect(await words(device, other)).toEqual(new Uint32Array(1024).fill(5));
    endless.close();
    quick.close();
  });
});

describe.skipIf(missing)('marks', () => {
  test('pass in order, with increasing times', { timeout: 300_000 }, async () => {
    const buffer = await device.alloc(16);
    const stream = device.stream();
    const many = byTier(500, 3000);
    const marks = Array.from({ length: many }, (_, i) => {
      stream.fill(buffer, i);
      return stream.mark().done;
    });
    let last = 0n;
    for (const { startedNs, endedNs } of await Promise.all(marks)) {
      expect(startedNs >= last && endedNs >= startedNs).toBe(true);
      last = endedNs;
    }
    expect(await words(device, buffer)).toEqual(new Uint32Array(4).fill(many - 1));
    stream.close();
  });
});

describe.skipIf(missing)('memory', () => {
  test('writes, reads, fills and copies of any size change only their bytes', { timeout: 300_000 }, async () => {
    const random = new Random(4);
    const bytes = 5 * 2 ** 20 + 40;
    const model = new Uint8Array(bytes);
    const buffer = await device.alloc(bytes);
    const stream = device.stream();
    /** Mostly small, some larger than a piece of a transfer. */
    const length = (max: number): number =>
      Math.min(max, random.below(4) === 0 ? random.below(3 * 2 ** 20) : random.below(70));
    for (let round = 0; round < byTier(40, 120); round++) {
      const offset = 4 * random.below(bytes / 4);
      const size = length(bytes - offset);
      switch (random.below(4)) {
        case 0: {
          const data = new Uint8Array(size);
          const first = random.below(256);
          for (let i = 0; i < size; i++) data[i] = first + i * 7;
          stream.write(buffer, data, offset);
          model.set(data, offset);
          break;
        }
        case 1: {
          const whole = size & ~3;
          const word = random.below(3) === 0 ? 0 : random.below(2 ** 32);
          stream.fill(buffer, word, offset, whole);
          new Uint32Array(model.buffer, offset, whole / 4).fill(word);
          break;
        }
        case 2: {
          const to = 4 * random.below(bytes / 4);
          const whole = Math.min(size, bytes - to, Math.abs(to - offset)) & ~3; // parts of one buffer that do not overlap
          stream.copy(buffer, buffer, whole, offset, to);
          model.copyWithin(to, offset, offset + whole);
          break;
        }
        default: {
          const into = new Uint8Array(size + 2).fill(171);
          stream.read(buffer, into.subarray(1, size + 1), offset);
          await stream.mark().done;
          expect(into.at(0)).toBe(171);
          expect(into.at(-1)).toBe(171);
          expect(Buffer.compare(into.subarray(1, size + 1), model.subarray(offset, offset + size))).toBe(0);
        }
      }
    }
    const all = new Uint8Array(bytes);
    stream.read(buffer, all);
    await stream.mark().done;
    expect(Buffer.compare(all, model)).toBe(0);
    buffer.free();
    stream.close();
  });

  test('a write that ends inside a word keeps the rest of the word', async () => {
    const buffer = await device.alloc(16);
    const stream = device.stream();
    stream.fill(buffer, 0xffff_ffff);
    stream.write(buffer, Uint8Array.of(1, 2, 3, 4, 5), 4);
    stream.write(buffer, Uint8Array.of(9), 12);
    expect(new Uint8Array((await words(device, buffer)).buffer)).toEqual(
      Uint8Array.of(255, 255, 255, 255, 1, 2, 3, 4, 5, 255, 255, 255, 9, 255, 255, 255),
    );
    stream.close();
  });

  test('kernels reach the last word of a buffer of more than 128 MiB', { timeout: 300_000 }, async () => {
    // The default limit of a binding is 128 MiB.
    const bytes = byTier(2 ** 27 + 2 ** 20, 2 ** 28);
    const kernel = items('ends', { buffers: { x: rw('u32') } }, ({ item, buffers }) =>
      buffers.x.set(
        item
          .add(1)
          .mul(bytes / 16)
          .sub(1),
        item.add(100),
      ),
    );
    const program = await device.compile(kernel);
    const x = await device.alloc(bytes);
    const stream = device.stream();
    stream.fill(x, 0x0a0b_0c0d);
    stream.launch({ job: program.bind({}), count: 4, buffers: { x } });
    const some = (offset: number): Promise<number> => {
      const word = new Uint32Array(1);
      stream.read(x, word, offset);
      return stream.mark().done.then(() => word[0] ?? 0);
    };
    // Items 0 to 3 write the last word of a quarter each.
    expect(
      await Promise.all([some(0), some(bytes / 4 - 4), some(bytes / 2 - 4), some(bytes - 8), some(bytes - 4)]),
    ).toEqual([0x0a0b_0c0d, 100, 101, 0x0a0b_0c0d, 103]);
    x.free();
    stream.close();
  });

  test('reports the size of a failed allocation and keeps working', async ({ skip }) => {
    if (device.info.processor !== 'cpu') return skip('a GPU may have hundreds of gigabytes');
    const held: Awaited<ReturnType<Device['alloc']>>[] = [];
    const refused = await (async () => {
      for (let i = 0; i < 64; i++) held.push(await device.alloc(device.info.limits.bufferBytes));
    })().catch((error) => error);
    expect(refused).toMatchObject({ code: 'device-memory', message: expect.stringContaining('1.0 GiB') });
    for (const buffer of held) buffer.free();
    expect(await words(device, await device.alloc(64))).toEqual(new Uint32Array(16));
  });
});

describe.skipIf(missing)('errors', () => {
  test("a compile error shows the compiler's message, the generated line and the TypeScript line", async () => {
    // WGSL allows blocks nested 127 deep.
    const deep = items('deep', { buffers: { x: read('u32'), out: rw('u32') } }, ({ item, buffers }) => {
      const nest = (value: Expr<'u32'>, depth: number): void => {
        if (depth === 0) buffers.out.set(item, value);
        else when(value.ne(depth), () => nest(buffers.x.at(value), depth - 1));
      };
      nest(buffers.x.at(item), 140);
    });
    const error = await device.compile(deep).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(MillraceError);
    expect(error).toMatchObject({ code: 'device-compile' });
    expect(error.message).toMatch(/error: {2}.*depth/);
    expect(error.message).toMatch(/text: {3}line \d+: .*b_x/);
    expect(error.message).toMatch(/from: {3}.*device\.test\.ts:\d+/);
  });

  test('more buffers than can be bound are rejected', async () => {
    const buffers = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`b${i}`, rw('u32')]));
    const many = items('many', { buffers }, ({ item, buffers: all }) => {
      for (const one of Object.values(all)) one.set(item, 1);
    });
    await expect(device.compile(many)).rejects.toMatchObject({
      code: 'device-capability',
      message: expect.stringContaining('kernel many needs 61 storage buffers'),
    });
  });

  test('f64 is rejected', async () => {
    const kernel = items('doubles', { buffers: { x: rw('f64') } }, ({ item, buffers }) => buffers.x.set(item, 0.5));
    await expect(device.compile(kernel)).rejects.toMatchObject({ code: 'device-capability' });
  });

  test('a lost device fails all work in flight with the reason, and can be reopened', async () => {
    const lose = new Int32Array(new SharedArrayBuffer(4));
    const worker = new URL('losing-worker.mjs', import.meta.url);
    const link = await openLink({ device: 'webgpu:0', worker, startData: { lose }, options: {} });
    const facts = { info: link.info, choice: {}, nearBytes: 16_384 };
    const losing = new WebGpuDevice(link, facts);
    const program = await losing.compile(visits);
    const seen = await losing.alloc(4096);
    const streams = [losing.stream(), losing.stream()];
    const marks = streams.map((stream) => {
      stream.launch({ job: program.bind({ steps: 5000 }), count: 2 ** 32, buffers: { seen } });
      return stream.mark();
    });
    Atomics.store(lose, 0, 1);
    Atomics.notify(lose, 0);
    for (const { done } of marks) {
      await expect(done).rejects.toMatchObject({
        code: 'device-failed',
        message: expect.stringContaining('device webgpu:0 was lost (destroyed)'),
      });
    }
    await expect(losing.alloc(4)).rejects.toMatchObject({ code: 'device-failed' });
    expect(() => losing.stream()).toThrow('was lost');
    await losing.close();

    const again = await openDevice('webgpu');
    expect(await words(again, await again.alloc(64))).toEqual(new Uint32Array(16));
    await again.close();
  });
});

if (missing) test('webgpu', ({ skip }) => skip(missing));
