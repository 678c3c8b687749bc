import { describe, expect, test } from 'vitest';
import type { BoundJob, CompileOptions, Device, DeviceProgram, Launch, Stream } from '../src/device/device.js';
import { listDevices, openDevice, openDevices } from '../src/device/registry.js';
import { Engine, generate, openDevicesWith, reduce, search, transform } from '../src/engine/index.js';
import { array, atomic, f16, items, loop, read, rw, table, u32, when } from '../src/kernel/index.js';
import { isShort } from './tier.js';

/** Accesses outside a buffer by a user's kernel: an error with line, index and size, never a crash. */
openDevicesWith(openDevices);
const { devices } = await listDevices();
const FIRST = ['interpreter', 'wasm', 'native'];

/** Follows a link into `data`. The address comes from memory, so that only the device can know it. */
const linked = items(
  'linked',
  { buffers: { links: read(u32), data: read(u32) }, hit: { n: u32 } },
  ({ index, buffers, emit }) => {
    const n = buffers.data.at(buffers.links.at(index.lo.and(3)));
    when(n.eq(7), () => emit({ n }));
  },
);
const data = new Uint32Array(10).fill(7);

async function hits(found: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of found) count++;
  return count;
}

describe('an address outside its buffer', () => {
  test.for(devices.map(({ id }) => id))('is an error with line, index and size on %s', async (id, ctx) => {
    if (isShort && !FIRST.includes(id)) return ctx.skip('npm run test:all');
    const buffers = { links: Uint32Array.of(1, 2, 3, 4_000_000), data };
    const failed = hits(search(linked, { devices: id, space: 1000, buffers }));
    await expect(failed).rejects.toMatchObject({ code: 'kernel-bounds' });
    await expect(failed).rejects.toThrow(/kernel linked: .*4000000.* 10 (elements|entries)/);
    await expect(failed).rejects.toThrow(/engine-checked\.test\.[jt]s:\d+/);
  });

  test.for(FIRST)('of an array, in a kernel without buffers, is an error on %s', async (id, ctx) => {
    if (!devices.some((device) => device.id === id)) return ctx.skip(`no ${id} here`);
    const filled = items('filled', { hit: { n: u32 } }, ({ index, emit }) => {
      const squares = array(u32, 4);
      loop(index.lo.and(7), (i) => squares.set(i, i.mul(i)));
      const n = squares.at(index.lo.and(7));
      when(n.eq(9), () => emit({ n }));
    });
    const failed = hits(search(filled, { devices: id, space: 1000 }));
    await expect(failed).rejects.toMatchObject({ code: 'kernel-bounds' });
    await expect(failed).rejects.toThrow(/kernel filled: .*4 (elements|entries)/);
  });

  test('of a look-up is an error, as is one of a row', async () => {
    const looked = items('looked', { hit: { n: u32 } }, ({ index, emit }) => {
      when(table(u32, [1, 2, 3]).at(index.lo).eq(2), () => emit({ n: index.lo }));
    });
    await expect(hits(search(looked, { devices: 'wasm', space: 100 }))).rejects.toThrow('of 3 elements');
    const copied = items('copied', { buffers: { x: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
      buffers.y.set(buffers.x.at(item), item);
    });
    const rows = { devices: 'wasm', inputBytes: 4, rowBytes: 4 };
    await expect(hits(transform(copied, [Uint32Array.of(0xffff_fff0)], rows))).rejects.toMatchObject({
      code: 'kernel-bounds',
    });
  });
});

describe('the checked build', () => {
  const right = { links: Uint32Array.of(0, 3, 5, 9), data };

  /** A device that notes which of its launches were of a checked program. */
  async function noting<T>(use: (device: Device, launches: boolean[], compiled: CompileOptions[]) => Promise<T>) {
    const device = await openDevice('wasm');
    const checked = new Map<DeviceProgram, boolean>();
    const launches: boolean[] = [];
    const compiled: CompileOptions[] = [];
    const programOf = (job: BoundJob): DeviceProgram => job.program;
    const stream = (): Stream => {
      const real = device.stream();
      const launch = (given: Launch): void => {
        launches.push(checked.get(programOf(given.job)) === true);
        real.launch(given);
      };
      return new Proxy(real, {
        get: (target, name) => (name === 'launch' ? launch : bound(target, name)),
      });
    };
    const compile: Device['compile'] = async (kernel, options = {}) => {
      compiled.push(options);
      const program = await device.compile(kernel, options);
      checked.set(program, options.checked === true);
      return program;
    };
    const noted = new Proxy(device, {
      get: (target, name) => (name === 'stream' ? stream : name === 'compile' ? compile : bound(target, name)),
    });
    try {
      return await use(noted, launches, compiled);
    } finally {
      await device.close();
    }
  }
  const bound = (target: object, name: string | symbol): unknown => {
    const value = Reflect.get(target, name) as unknown;
    return typeof value === 'function' ? (value.bind(target) as unknown) : value;
  };

  test('runs the first chunk and no later one', async () => {
    await noting(async (device, launches) => {
      const engine = new Engine([device], { streams: 1, slots: 1 });
      const options = { engine, space: 5000, max: 500, buffers: right };
      expect(await hits(search(linked, options))).toBe(5000);
      expect(launches.length).toBeGreaterThan(9);
      expect(launches.map((isChecked, at) => (isChecked ? at : -1)).filter((at) => at >= 0)).toEqual([0]);
      await engine.close();
    });
  });

  test('runs all chunks or none if asked to, and is not made for kernels without accesses', async () => {
    await noting(async (device, launches, compiled) => {
      const options = { devices: device, space: 2000, max: 500, buffers: right };
      await hits(search(linked, { ...options, checked: true }));
      expect(new Set(launches.splice(0))).toEqual(new Set([true]));
      await hits(search(linked, { ...options, checked: false }));
      expect(new Set(launches.splice(0))).toEqual(new Set([false]));
      compiled.length = 0;
      const plain = items('plain', { hit: { n: u32 } }, ({ index, emit }) => {
        when(index.lo.rem(100).eq(7), () => emit({ n: index.lo }));
      });
      expect(await hits(search(plain, { devices: device, space: 2000 }))).toBe(20);
      expect(compiled).toEqual([{}]);
    });
  });
});

describe('a buffer that is too short is refused before a device is opened', () => {
  const devices = 'no-such-device';

  test('by the last index of a search', async () => {
    const kernel = items('marked', { job: { from: u32 }, buffers: { x: read(u32) }, hit: { n: u32 } }, (context) => {
      const { job, index, buffers, emit } = context;
      const n = buffers.x.at(index.lo.add(job.from));
      when(n.eq(7), () => emit({ n }));
    });
    const options = { devices, space: 100, job: { from: 1 } };
    const short = hits(search(kernel, { ...options, buffers: { x: new Uint32Array(100) } }));
    await expect(short).rejects.toMatchObject({ code: 'buffer-range' });
    await expect(short).rejects.toThrow('index 99 accesses element 100 of buffer x, which has 100');
    await expect(short).rejects.toThrow(/engine-checked\.test\.[jt]s:\d+/);
    const enough = hits(search(kernel, { ...options, buffers: { x: new Uint32Array(101) } }));
    await expect(enough).rejects.toMatchObject({ code: 'device-unknown' });
  });

  test('by the first row', async () => {
    const pairs = items('pairs', { buffers: { out: rw(u32) } }, ({ item, index, buffers }) => {
      buffers.out.set(item.mul(2), index.lo);
      buffers.out.set(item.mul(2).add(1), index.hi);
    });
    const short = hits(generate(pairs, { devices, space: 100, rowBytes: 4 }));
    await expect(short).rejects.toThrow('index 0 accesses element 1 of a row of out, which has 1');
    await expect(hits(generate(pairs, { devices, space: 100, rowBytes: 8 }))).rejects.toMatchObject({
      code: 'device-unknown',
    });
  });

  test('but not by an access that a condition guards', async () => {
    const guarded = items('guarded', { buffers: { x: read(u32) }, hit: { n: u32 } }, ({ index, buffers, emit }) => {
      when(index.lo.lt(10), () => emit({ n: buffers.x.at(index.lo) }));
    });
    const options = { space: 100, buffers: { x: new Uint32Array(10) } };
    expect(await hits(search(guarded, { ...options, devices: 'interpreter' }))).toBe(10);
  });
});

describe('data that does not fit the buffers of a kernel is refused before a device is opened', () => {
  const options = { devices: 'no-such-device', space: 4 };
  const marked = items('marked', { buffers: { b: read(u32) }, hit: { n: u32 } }, ({ index, buffers, emit }) => {
    const n = buffers.b.at(index.lo);
    when(n.eq(7), () => emit({ n }));
  });
  const copied = items('copied', { buffers: { b: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
    buffers.y.set(item, buffers.b.at(item));
  });
  const counted = items('counted', { buffers: { b: read(u32), sum: atomic() } }, ({ index, buffers }) => {
    buffers.sum.add(0, buffers.b.at(index.lo));
  });
  const mapped = items('mapped', { buffers: { x: read(u32), b: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
    buffers.y.set(item, buffers.x.at(item).add(buffers.b.at(0)));
  });
  const rows = { ...options, rowBytes: 4 };
  const row = Uint32Array.of(1);
  interface Data {
    readonly buffers?: Readonly<Record<string, ArrayBufferView>>;
  }
  const jobs: readonly [string, (data: Data) => Promise<unknown>][] = [
    ['search', (data) => hits(search(marked, { ...options, ...data }))],
    ['generate', (data) => hits(generate(copied, { ...rows, output: 'y', ...data }))],
    ['generate, with items', (data) => hits(generate(copied, { ...rows, items: () => 1, output: 'y', ...data }))],
    ['reduce', (data) => reduce(counted, { ...options, initial: 0, combine: (sum) => sum, ...data })],
    ['transform', (data) => hits(transform(mapped, [row], { ...rows, inputBytes: 4, input: 'x', ...data }))],
  ];

  test.each(jobs)('%s', async (_, run) => {
    const refused = async (buffers: unknown, ...texts: (string | RegExp)[]): Promise<void> => {
      const failed = run(buffers === undefined ? {} : ({ buffers } as Data));
      await expect(failed).rejects.toMatchObject({ code: 'launch-arguments' });
      for (const text of texts) await expect(failed).rejects.toThrow(text);
    };
    await refused(undefined, /kernel \w+: buffer b is not given/, 'give a Uint32Array: `buffers: { b: new Uint32Array');
    await refused({}, 'buffer b is not given');
    await refused({ b: 100 }, /kernel \w+: buffer b: 100 is not a typed array/, 'give a Uint32Array', '(100)');
    await refused({ b: [1, 2] }, 'buffer b: Array is not a typed array');
    await refused({ b: 'text' }, 'buffer b: a string is not a typed array');
    await refused({ b: new Float32Array(4) }, 'b has elements of type u32, not those of a Float32Array', 'Uint32Array');
    await refused({ b: new Uint8Array(7) }, 'buffer b has 7 bytes, which are not a whole number of u32');
    await refused({ b: new Uint32Array(4), c: row }, 'there is no buffer called c', /its buffers are (x, )?b/);
    for (const b of [new Uint32Array(4), new Uint8Array(16), new DataView(new ArrayBuffer(16)), Buffer.alloc(16)])
      await expect(run({ buffers: { b } })).rejects.toMatchObject({ code: 'device-unknown' });
  });

  test('also for buffers that the job makes, and for f16, whose array has bits', async () => {
    const buffers = { b: row, sum: 4 } as unknown as Record<string, ArrayBufferView>;
    const own = reduce(counted, { ...options, combine: (sum) => sum, buffers });
    await expect(own).rejects.toThrow(/buffer sum: 4 is not a typed array[\s\S]*leave it out: the job makes it/);
    const halves = items('halves', { buffers: { b: read(f16) }, hit: { n: u32 } }, ({ index, buffers, emit }) => {
      when(buffers.b.at(index.lo).gt(0), () => emit({ n: 1 }));
    });
    const found = (b: ArrayBufferView) => hits(search(halves, { ...options, devices: 'interpreter', buffers: { b } }));
    expect(await found(Uint16Array.of(0, 0x3c00, 0, 0x3c00))).toBe(2);
    await expect(found(new Float32Array(4))).rejects.toThrow('give a Uint16Array');
  });
});
