import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { items, loop, read, rw, u32, when } from '../kernel/index.js';
import type { Device, DeviceProgram, Stream } from './device.js';
import { listDevices, openDevice } from './registry.js';

/** Checks what device.ts promises, on every available device. */

const { devices, absent } = await listDevices();
for (const { id, reason } of absent) console.warn(`skipped on ${id}: ${reason}`);

const scale = items(
  'scale',
  { job: { by: u32 }, chunk: { plus: u32 }, buffers: { x: rw(u32) } },
  ({ job, chunk, item, buffers }) => {
    buffers.x.set(item, buffers.x.at(item).mul(job.by).add(chunk.plus).add(item));
  },
);
const odd = items('odd', { buffers: { x: read(u32) }, hit: { value: u32 } }, ({ item, buffers, emit }) => {
  const value = buffers.x.at(item);
  when(value.and(1).eq(1), () => emit({ value }));
});
const slow = items('slow', { job: { steps: u32 }, buffers: { x: rw(u32) } }, ({ job, item, buffers }) => {
  loop(job.steps, (i) => buffers.x.set(item.and(1), buffers.x.at(item.and(1)).add(i)));
});

describe.each(devices.map(({ id }) => id))('%s', (id) => {
  let device: Device;
  let stream: Stream;
  let programs: { scale: DeviceProgram; odd: DeviceProgram; slow: DeviceProgram };
  beforeAll(async () => {
    device = await openDevice(id);
    stream = device.stream();
    const [ofScale, ofOdd, ofSlow] = await Promise.all([
      device.compile(scale),
      device.compile(odd),
      device.compile(slow, { lanes: 1 }),
    ]);
    programs = { scale: ofScale, odd: ofOdd, slow: ofSlow };
  });
  afterAll(() => device?.close());

  const contents = async (from: Parameters<Stream['read']>[0], on = stream): Promise<number[]> => {
    const into = new Uint32Array(from.bytes / 4);
    on.read(from, into);
    await on.mark().done;
    return [...into];
  };

  test('a program describes what its author declared', () => {
    const { scale: program } = programs;
    expect(program.name).toBe('scale');
    expect(program.job.map(({ name }) => name)).toEqual(['by']);
    expect(program.chunk.map(({ name }) => name)).toEqual(['plus']);
    expect(program.bindings.map(({ name }) => name)).toEqual(['x']);
    expect(programs.odd.ring).toEqual({ headerWords: 4, recordWords: 2 });
    expect(program.device).toBe(device);
    expect(program.text).not.toBe('');
    expect(program.statements).toBeGreaterThan(0);
  });

  test('commands of a stream run in order', async () => {
    const x = await device.alloc(40);
    stream.write(x, Uint32Array.of(1, 2, 3));
    const job = programs.scale.bind({ by: 10 });
    stream.launch({ job, chunk: { plus: 0 }, count: 2, buffers: { x } });
    stream.launch({ job, chunk: { plus: 5 }, count: 1, buffers: { x } });
    stream.copy(x, x, 8, 0, 16);
    stream.fill(x, 9, 32);
    expect(await contents(x)).toEqual([105, 21, 3, 0, 105, 21, 0, 0, 9, 9]);
    x.free();
  });

  test('hits are counted, and stored while there is room', async () => {
    const [x, ring] = await Promise.all([device.alloc(400), device.alloc((4 + 3 * 2) * 4)]);
    const job = programs.odd.bind({});
    stream.write(
      x,
      Uint32Array.from({ length: 100 }, (_, i) => (i % 40 === 7 ? 2 * i + 1 : 2 * i)),
    );
    stream.launch({ job, count: 100, buffers: { x }, ring });
    const few = await contents(ring);
    expect(few[0]).toBe(3);
    const records = [few.slice(4, 6), few.slice(6, 8), few.slice(8, 10)].sort((a, b) => a[0]! - b[0]!);
    expect(records).toEqual([
      [7, 15],
      [47, 95],
      [87, 175],
    ]);
    stream.fill(x, 1);
    stream.fill(ring, 0, 0, 16);
    stream.launch({ job, count: 100, buffers: { x }, ring });
    const many = await contents(ring);
    expect(many[0]).toBe(100);
    x.free();
    ring.free();
  });

  test('bad launches are rejected at the call', async () => {
    const x = await device.alloc(40);
    const job = programs.scale.bind({ by: 1 });
    const good = { job, chunk: { plus: 0 }, count: 1, buffers: { x } };
    const code = (launch: Parameters<Stream['launch']>[0]): unknown => {
      try {
        stream.launch(launch);
        return 'none';
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect(code({ ...good, chunk: {} })).toBe('launch-arguments');
    expect(code({ ...good, chunk: { plus: 0, base: 1 } })).toBe('launch-arguments');
    expect(code({ ...good, chunk: { plus: -1.5 } })).toBe('launch-arguments');
    expect(code({ ...good, buffers: {} })).toBe('launch-arguments');
    expect(code({ ...good, count: -1 })).toBe('launch-range');
    expect(code({ ...good, base: 2n ** 32n - 1n, count: 2 })).toBe('launch-range');
    expect(code({ job: programs.odd.bind({}), count: 1, buffers: { x } })).toBe('launch-arguments');
    expect(() => programs.scale.bind({})).toThrow(/job value by is missing/);
    expect(() => programs.scale.bind({ by: 1, more: 2 })).toThrow(/unknown job value more/);
    expect(() => stream.write(x, new Uint8Array(41))).toThrow(/not inside the buffer/);
    expect((await stream.mark().done).complete).toBe(true); // none of them left anything behind
    x.free();
  });

  test('an out-of-bounds access in a checked build fails the mark and names kernel and line', async () => {
    const checked = await device.compile(scale, { checked: true });
    const x = await device.alloc(40);
    stream.launch({ job: checked.bind({ by: 1 }), chunk: { plus: 0 }, count: 11, buffers: { x } });
    const failed = stream.mark();
    const clean = stream.mark();
    const error = await failed.done.catch((reason) => reason);
    expect(error).toMatchObject({ code: 'kernel-bounds' });
    expect(error.message).toMatch(/kernel scale: index 10 /);
    expect(error.message).toMatch(/contract\.test\.ts:\d+/);
    expect((await clean.done).complete).toBe(true);
    x.free();
  });

  test('a closed program finishes queued launches, traps included, and rejects new ones', async () => {
    const [program, checked] = await Promise.all([device.compile(scale), device.compile(scale, { checked: true })]);
    const x = await device.alloc(40);
    const launch = { job: program.bind({ by: 0 }), chunk: { plus: 5 }, count: 10, buffers: { x } };
    for (let i = 0; i < 3; i++) stream.launch(launch);
    const done = stream.mark();
    stream.launch({ job: checked.bind({ by: 1 }), chunk: { plus: 0 }, count: 11, buffers: { x } });
    const trapped = stream.mark();
    program.close();
    program.close();
    checked.close();
    expect([program.isClosed, programs.scale.isClosed]).toEqual([true, false]);
    expect(() => stream.launch(launch)).toThrow(/kernel scale: its program has been closed/);
    expect((await done.done).complete).toBe(true);
    await expect(trapped.done).rejects.toThrow(/kernel scale: index 10 /);
    const again = await device.compile(scale);
    stream.launch({ ...launch, job: again.bind({ by: 0 }) });
    expect(await contents(x)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    again.close();
    x.free();
  });

  test('a cancelled mark is incomplete, and so is one that waits for it', async () => {
    const x = await device.alloc(64);
    const other = device.stream();
    const job = programs.slow.bind({ steps: 1000 });
    for (let i = 0; i < 10; i++) stream.launch({ job, count: 2 ** 31, buffers: { x } });
    const cancelled = stream.mark();
    other.wait(cancelled);
    const waiting = other.mark();
    await new Promise((resolve) => setTimeout(resolve, 10));
    stream.cancel();
    stream.launch({ job, count: 2, buffers: { x } });
    expect((await cancelled.done).complete).toBe(false);
    expect((await waiting.done).complete).toBe(false);
    expect((await stream.mark().done).complete).toBe(true);
    other.close();
    x.free();
  });

  test('the count can come from device memory', async () => {
    const [x, counts] = await Promise.all([device.alloc(40), device.alloc(4)]);
    stream.write(counts, Uint32Array.of(3));
    const count = { buffer: counts, word: 0, max: 10 };
    stream.launch({ job: programs.scale.bind({ by: 0 }), chunk: { plus: 1 }, count, buffers: { x } });
    expect(await contents(x)).toEqual([1, 2, 3, 0, 0, 0, 0, 0, 0, 0]);
    stream.write(counts, Uint32Array.of(99));
    stream.launch({ job: programs.scale.bind({ by: 0 }), chunk: { plus: 2 }, count, buffers: { x } });
    expect(await contents(x)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    x.free();
    counts.free();
  });

  test('the event loop is not blocked while a launch runs', async () => {
    const x = await device.alloc(64);
    stream.launch({ job: programs.slow.bind({ steps: 1000 }), count: 2 ** 31, buffers: { x } });
    const mark = stream.mark();
    let turns = 0;
    for (; turns < 5; turns++) await new Promise((resolve) => setTimeout(resolve, 1));
    stream.cancel();
    expect((await mark.done).complete).toBe(false);
    x.free();
  });

  test('close rejects pending marks and all later calls', async () => {
    const own = await openDevice(id);
    const program = await own.compile(slow, { lanes: 1 });
    const x = await own.alloc(64);
    const mine = own.stream();
    mine.launch({ job: program.bind({ steps: 1000 }), count: 2 ** 31, buffers: { x } });
    const mark = mine.mark();
    mine.mark(); // its result is never awaited
    expect(() => stream.wait(mark)).toThrow(/only for completions of its own device/);
    expect(() => mine.fill(x, 0, 2)).toThrow(/multiple of 4/);
    await own.close();
    await own.close();
    await expect(mark.done).rejects.toMatchObject({ code: 'device-closed' });
    await expect(own.alloc(4)).rejects.toMatchObject({ code: 'device-closed' });
    await expect(own.compile(slow)).rejects.toMatchObject({ code: 'device-closed' });
    expect(() => mine.mark()).toThrow(/closed/);
  });
});
