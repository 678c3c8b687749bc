import { describe, expect, test } from 'vitest';
import type { BoundJob, CompileOptions, Device, DeviceProgram, Launch, Stream } from '../src/device/device.js';
import { listDevices, openDevice, openDevices } from '../src/device/registry.js';
import { Engine, generate, openDevicesWith, search, transform } from '../src/engine/index.js';
import { items, read, rw, table, u32, when } from '../src/kernel/index.js';
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
