import { describe, expect, test } from 'vitest';
import {
  Engine,
  f64,
  i32,
  items,
  listDevices,
  MAX_PRINTS,
  type OnPrint,
  openDevice,
  type Printed,
  print,
  run,
  rw,
  search,
  u32,
  u64,
  when,
} from '../src/index.js';
import { isShort } from './tier.js';

/** `print` in kernels, on every device that is here. */
const { devices } = await listDevices();
const inShortRuns = ['interpreter', 'wasm'];

const squares = items('squares', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
  const square = item.mul(item);
  when(item.rem(10).eq(3), () => {
    print('square', square);
    print('negative', item.bits(i32).neg());
  });
  buffers.out.set(item, square);
});

function collector(): { readonly onPrint: OnPrint; readonly lines: string[]; omitted: number } {
  const found = {
    lines: [] as string[],
    omitted: 0,
    onPrint: (printed: Parameters<OnPrint>[0]): void => {
      if ('omitted' in printed) found.omitted += printed.omitted;
      else found.lines.push(`${printed.label} ${printed.value} at ${printed.index} in ${lineOf(printed)}`);
    },
  };
  return found;
}

const lineOf = ({ line }: Printed): string => line.replace(/^.*\/([^/]*):\d+$/, '$1').replace(/\d+$/, 'N');

describe.each(devices.map(({ id }) => id))('on %s', (id) => {
  const skips = isShort && !inShortRuns.includes(id);

  test.skipIf(skips)('each item reports its values', async () => {
    const found = collector();
    const { out } = await run(squares, { count: 40, buffers: { out: 40 }, devices: id, onPrint: found.onPrint });
    expect(out[33]).toBe(33 * 33);
    const wanted = [3, 13, 23, 33].flatMap((n) => [
      `square ${n * n} at ${n} in engine-prints.test.ts:N`,
      `negative ${-n} at ${n} in engine-prints.test.ts:N`,
    ]);
    expect(found.lines.sort()).toEqual(wanted.sort());
    expect(found.omitted).toBe(0);
  });

  test.skipIf(skips)('a search reports indices of its space, and hits as before', async () => {
    const marked = items('marked', { hit: { n: u32 } }, ({ index, emit }) => {
      when(index.rem(1000).eq(7), () => {
        print('wide', index);
        emit({ n: index.lo });
      });
    });
    const found = collector();
    const device = await openDevice(id);
    const engine = new Engine([device], { onPrint: found.onPrint });
    try {
      const start = 2n ** 33n;
      const hits: bigint[] = [];
      for await (const { index } of search(marked, { space: { start, length: 3000n }, engine })) hits.push(index);
      // 2^33 is 592 modulo 1,000.
      const wanted = [415n, 1415n, 2415n].map((offset) => start + offset);
      expect(hits).toEqual(wanted);
      expect(found.lines.sort()).toEqual(wanted.map((n) => `wide ${n} at ${n} in engine-prints.test.ts:N`).sort());
    } finally {
      await engine.close();
      await device.close();
    }
  });

  test.skipIf(skips)('what does not fit is counted', async () => {
    const all = items('all', { buffers: { out: rw(u64) } }, ({ item, buffers }) => {
      print('n', item);
      buffers.out.set(item, item.to(u64));
    });
    const found = collector();
    const count = MAX_PRINTS + 77;
    await run(all, { count, buffers: { out: count }, devices: id, onPrint: found.onPrint });
    expect([found.lines.length, found.omitted]).toEqual([MAX_PRINTS, 77]);
    expect(new Set(found.lines).size).toBe(MAX_PRINTS);
  });
});

/** Prints each item's number, then stores to the element that the buffer names. */
const counting = items('counting', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
  print('n', item);
  buffers.out.set(buffers.out.at(item), item);
});

test('the interpreter reports a value when its item prints it, before a later item fails', async () => {
  const found = collector();
  const out = Uint32Array.of(0, 0, 0, 0, 0, 99, 0, 0, 0);
  const failing = run(counting, { count: 9, buffers: { out }, devices: 'interpreter', onPrint: found.onPrint });
  await expect(failing).rejects.toThrow(expect.objectContaining({ code: 'kernel-bounds' }));
  expect(found.lines).toEqual([0, 1, 2, 3, 4, 5].map((n) => `n ${n} at ${n} in engine-prints.test.ts:N`));
});

test('the interpreter reports a value before the next item starts', async () => {
  const stop = new AbortController();
  const seen: bigint[] = [];
  const onPrint: OnPrint = (printed) => {
    if ('index' in printed) seen.push(printed.index);
    if (seen.length === 3) stop.abort();
  };
  const options = { count: 2 ** 20, buffers: { out: 2 ** 20 }, devices: 'interpreter', signal: stop.signal, onPrint };
  await expect(run(counting, options)).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(seen).toEqual([0n, 1n, 2n]);
});

test('values of all types are reported exactly', async () => {
  const kinds = items('kinds', { buffers: { x: rw(f64) } }, ({ item, buffers }) => {
    print('f64', buffers.x.at(0));
    print('f32', buffers.x.at(0).to('f32'));
    print('bool', item.eq(0));
    print('u64', item.to(u64).sub(1));
  });
  const found = collector();
  await run(kinds, { count: 1, buffers: { x: Float64Array.of(-0.1) }, devices: 'interpreter', onPrint: found.onPrint });
  expect(found.lines.map((line) => line.replace(/ at 0.*/, ''))).toEqual([
    'f64 -0.1',
    `f32 ${Math.fround(-0.1)}`,
    'bool true',
    'u64 18446744073709551615',
  ]);
});
