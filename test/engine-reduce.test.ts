import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice, openDevices } from '../src/device/registry.js';
import { type FaultSpec, generate, openDevicesWith, reduce, run, virtualDevices } from '../src/engine/index.js';
import { atomic, f64, items, read, rw, tiles, u8, u32, u64, when } from '../src/kernel/index.js';
import { byTier, isShort } from './tier.js';

openDevicesWith(openDevices);
const { devices } = await listDevices();
const FIRST = ['interpreter', 'wasm', 'native'];

let behind: Device;
beforeAll(async () => {
  behind = await openDevice('wasm');
});
afterAll(() => behind?.close());

const mix = (k: number): number => (Math.imul(k, 0x9e3779b1) ^ (k >>> 7)) >>> 0;

/** Counts the upper four bits of a value of each index. */
const histogram = items('histogram', { buffers: { counts: atomic() } }, ({ index, buffers }) => {
  buffers.counts.add(index.lo.mul(0x9e3779b1).xor(index.lo.shr(7)).shr(28), 1);
});
const added = (total: Uint32Array, part: Uint32Array): Uint32Array => total.map((n, at) => n + (part[at] ?? 0));
const expected = (space: number): number[] => {
  const counts = new Array<number>(16).fill(0);
  for (let k = 0; k < space; k++) counts[mix(k) >>> 28]!++;
  return counts;
};

describe('reduce', () => {
  test.for(devices.map(({ id }) => id))('a histogram on %s', async (id, ctx) => {
    if (isShort && !FIRST.includes(id)) return ctx.skip('npm run test:all');
    const space = 3000;
    const total = await reduce(histogram, { devices: id, space, length: 16, max: 700, combine: added });
    expect([...(total ?? [])]).toEqual(expected(space));
  });

  // A part counts whole or not at all, also if a device is lost with it or its work is done twice.
  const faults: [string, FaultSpec[]][] = [
    ['unequal', [{ speed: 3e6 }, { speed: 1e5 }]],
    ['one disappears', [{ speed: 1e6, disappearsAt: 6 }, { speed: 1e6 }]],
    ['one hangs', [{ speed: 1e6, hangsAt: 30 }, { speed: 1e6 }]],
  ];
  test.each(byTier(faults.slice(0, 2), faults))('on several devices, %s: every index once', async (_what, specs) => {
    const space = 100_000;
    const made = virtualDevices(behind, specs);
    const options = { devices: made, patience: 0.05, space, length: 16, combine: added };
    expect([...((await reduce(histogram, options)) ?? [])]).toEqual(expected(space));
  });

  test('parts come in ascending order of index, with job and chunk values', async () => {
    const least = items(
      'least',
      { job: { by: u32 }, chunk: { high: u32 }, buffers: { first: atomic() } },
      ({ job, chunk, index, buffers }) => {
        buffers.first.max(0, index.lo.add(1).mul(job.by));
        buffers.first.max(1, chunk.high);
      },
    );
    const starts = await reduce(least, {
      devices: virtualDevices(behind, [{ speed: 1e6 }, { speed: 3e5 }]),
      space: { start: 2n ** 64n, length: 20_000n },
      job: { by: 3 },
      chunk: ({ start }) => ({ high: Number(start >> 64n) }),
      length: 2,
      max: 1000,
      initial: [] as number[],
      combine: (all, [last = 0, high = 0]) => [...all, last / 3, high],
    });
    const ends = starts.filter((_, at) => at % 2 === 0);
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
    expect(ends.at(-1)).toBe(20_000);
    expect(new Set(starts.filter((_, at) => at % 2 === 1))).toEqual(new Set([1]));
  });

  test('sums of floats by hits of tiles have the same bits however the space is cut', async () => {
    const harmonic = tiles('harmonic', { hit: { part: f64 } }, ({ index, sum, once, emit }) => {
      const part = sum(f64, 300, (i) => index.lo.mul(300).add(i).add(1).to(f64).neg().div(-1));
      once(() => emit({ part }));
    });
    const options = {
      devices: behind,
      space: 200,
      initial: 0,
      combine: (all: number, hit: { part: number }) => all + hit.part,
    };
    const [one, other] = [await reduce(harmonic, options), await reduce(harmonic, { ...options, max: 7 })];
    expect(one).toBe(other);
    expect(one).toBe((60_000 * 60_001) / 2);
  });

  test('a kernel without hits gives the initial value, or nothing', async () => {
    const none = items('none', { hit: { n: u32 } }, ({ index, emit }) => when(index.lo.lt(0), () => emit({ n: 0 })));
    const options = { devices: behind, space: 100 };
    expect(await reduce(none, { ...options, initial: 'none', combine: () => 'some' })).toBe('none');
    expect(await reduce(none, { ...options, combine: (a) => a })).toBeUndefined();
  });

  test('a buffer that is too short is refused', async () => {
    const second = items('second', { buffers: { n: atomic() } }, ({ buffers }) => void buffers.n.add(1, 1));
    const options = { devices: behind, space: 100, combine: added };
    await expect(reduce(second, options)).rejects.toThrow('accesses element 1 of buffer n, which has 1');
    expect([...((await reduce(second, { ...options, length: 2 })) ?? [])]).toEqual([0, 100]);
  });
});

describe('run', () => {
  const sums = items(
    'sums',
    { job: { by: u64 }, buffers: { text: read(u8), wide: rw(u64), ends: atomic() } },
    ({ job, item, buffers }) => {
      buffers.wide.set(item, buffers.wide.at(item).add(buffers.text.at(item).to(u64)).add(job.by));
      buffers.ends.max(0, item);
    },
  );
  const text = Uint8Array.of(1, 2, 3, 4, 5);
  const wide = BigUint64Array.of(10n, 20n, 30n, 40n, 2n ** 63n);

  test.for(devices.map(({ id }) => id))('gives the arrays that a kernel has written, on %s', async (id, ctx) => {
    if (isShort && !FIRST.includes(id)) return ctx.skip('npm run test:all');
    const made = await run(sums, { devices: id, count: 5, job: { by: 100n }, buffers: { text, wide, ends: 2 } });
    expect(made).toEqual({
      wide: BigUint64Array.of(111n, 122n, 133n, 144n, 2n ** 63n + 105n),
      ends: Uint32Array.of(4, 0),
    });
    expect(wide[0]).toBe(10n);
  });

  test('refuses what cannot be right, before a device is opened', async () => {
    const buffers = { text, wide, ends: 1 };
    const options = { devices: 'no-such-device', count: 5, job: { by: 1 }, buffers };
    await expect(run(sums, { ...options, count: 6 })).rejects.toThrow('index 5 accesses element 5 of buffer wide');
    await expect(run(sums, { ...options, buffers: { ...buffers, ends: -1 } })).rejects.toThrow('ends is not given');
    await expect(run(sums, { ...options, buffers: { ...buffers, wide: text } })).rejects.toThrow('5 bytes are not');
    const more = { ...buffers, more: 1 };
    await expect(run(sums, { ...options, buffers: more })).rejects.toThrow('there is no buffer called more');
    const emitting = items('emitting', { hit: { n: u32 } }, ({ emit }) => emit({ n: 1 }));
    await expect(run(emitting, { count: 1 })).rejects.toThrow('use search()');
    await expect(run(sums, options)).rejects.toMatchObject({ code: 'device-unknown' });
    await expect(run(sums, { ...options, devices: 'wasm,interpreter' })).rejects.toThrow('runs on one device');
  });

  test('reports an access outside a buffer, and can be aborted', async () => {
    const stray = items('stray', { buffers: { at: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      buffers.out.set(buffers.at.at(item), 1);
    });
    const buffers = { at: Uint32Array.of(0, 1_000_000), out: 2 };
    await expect(run(stray, { devices: behind, count: 2, buffers })).rejects.toMatchObject({ code: 'kernel-bounds' });
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(run(stray, { devices: behind, count: 1, buffers, signal })).rejects.toThrow('stopped');
  });
});

test('a batch as an array: a view of its bytes, or a refusal', async () => {
  const rows = items('rows', { buffers: { out: rw(u32) } }, ({ item, index, buffers }) => {
    buffers.out.set(item, index.lo.add(0x100));
  });
  for await (const batch of generate(rows, { devices: behind, space: 3, rowBytes: 4 })) {
    expect([...batch.as(u32)]).toEqual([0x100, 0x101, 0x102]);
    expect([...batch.as(u8).subarray(0, 2)]).toEqual([0, 1]);
    expect(batch.as(u32).buffer).toBe(batch.bytes.buffer);
    expect(() => batch.as(u64)).toThrow('12 bytes are not a whole number of u64');
    batch.release();
  }
});
