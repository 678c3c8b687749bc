import { expectTypeOf, test } from 'vitest';
import type { Device } from '../../device/device.js';
import { atomic, f64, items, read, rw, u32, u64, when } from '../../kernel/index.js';
import { generate } from '../makers/generate.js';
import { reduce } from '../makers/reduce.js';
import { run } from '../makers/run-kernel.js';
import { search } from '../makers/search.js';

// Types of jobs, derived from a kernel's signature. Nothing here runs.
declare const devices: Device;
const key = items(
  'key',
  { job: { salt: [u32, 2], limit: u64 }, chunk: { high: u32 }, hit: { part: [u32, 4], sum: u64, isLast: 'bool' } },
  ({ index, emit }) => when(index.lo.eq(1), () => emit({ part: [1, 2, 3, 4], sum: index, isLast: true })),
);
const plain = items('plain', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo }));
const bytes = items('bytes', { buffers: { x: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
  buffers.y.set(item, buffers.x.at(item));
});

test('a hit has the fields that the kernel emits, and its index', async () => {
  const chunk = () => ({ high: 0 });
  for await (const hit of search(key, { devices, space: 9n, job: { salt: [1, 2], limit: 3n }, chunk })) {
    expectTypeOf(hit.index).toEqualTypeOf<bigint>();
    expectTypeOf(hit.part).toEqualTypeOf<readonly number[]>();
    expectTypeOf(hit.sum).toEqualTypeOf<bigint>();
    expectTypeOf(hit.isLast).toEqualTypeOf<boolean>();
    // @ts-expect-error no such field
    hit.nonce;
  }
  const first = search(plain, { devices, space: 9n, mode: 'first', verify: ({ n }) => n > 3 }).first();
  expectTypeOf(first).resolves.toEqualTypeOf<
    ({ readonly index: bigint } & Omit<{ readonly n: number }, 'index'>) | undefined
  >();
});

test('values are asked for where the kernel declares them', () => {
  const chunk = () => ({ high: 0 });
  // @ts-expect-error job values are missing
  search(key, { devices, space: 9n, chunk });
  // @ts-expect-error one of them is missing
  search(key, { devices, space: 9n, chunk, job: { salt: [1, 2] } });
  // @ts-expect-error chunk values are missing
  search(key, { devices, space: 9n, job: { salt: [1, 2], limit: 3n } });
  // @ts-expect-error of the wrong type
  search(key, { devices, space: 9n, chunk, job: { salt: ['a', 'b'], limit: 3n } });
  // @ts-expect-error no such mode
  search(plain, { devices, space: 9n, mode: 'frist' });
  // @ts-expect-error the kernel declares no hits
  search(bytes, { devices, space: 9n });
  search(plain, { devices, space: 9n });
  search(plain, { devices: 'cuda:0,cpu', streams: 4, space: { start: 2n ** 64n, length: 5n } });
  // @ts-expect-error an engine has its devices
  search(plain, { engine: {} as never as import('../engine.js').Engine, devices, space: 9n });
  generate(bytes, { devices, space: 9n, rowBytes: 4, buffers: { x: new Uint32Array(9) } });
  // @ts-expect-error the size of a row is missing
  generate(bytes, { devices, space: 9n });
});

test('arrays have the types of the buffers that the kernel writes', async () => {
  const mixed = items(
    'mixed',
    { job: { by: u32 }, buffers: { x: read(u32), y: rw(f64), n: atomic() } },
    ({ item, job, buffers }) => buffers.y.set(item, buffers.x.at(item).add(job.by).to('f64')),
  );
  const x = new Uint32Array(9);
  const made = run(mixed, { devices, count: 9, job: { by: 1 }, buffers: { x, y: 9, n: 1 } });
  expectTypeOf(made).resolves.toEqualTypeOf<{
    readonly y: Float64Array;
    readonly n: Uint32Array;
  }>();
  // @ts-expect-error a buffer is missing
  void run(mixed, { devices, count: 9, job: { by: 1 }, buffers: { x, y: 9 } });
  // @ts-expect-error job values are missing
  void run(mixed, { devices, count: 9, buffers: { x, y: 9, n: 1 } });
  for await (const batch of generate(bytes, { devices, space: 9n, rowBytes: 4 })) {
    expectTypeOf(batch.as(u64)).toEqualTypeOf<BigUint64Array>();
    expectTypeOf(batch.as('i64')).toEqualTypeOf<BigInt64Array>();
  }
});

test('a reduction has the type of its initial value, or of its parts', () => {
  const counted = items('counted', { buffers: { n: atomic() } }, ({ buffers }) => void buffers.n.add(0, 1));
  const sum = reduce(counted, { devices, space: 9n, initial: 0n, combine: (all, [n = 0]) => all + BigInt(n) });
  expectTypeOf(sum).resolves.toEqualTypeOf<bigint>();
  const best = reduce(plain, { devices, space: 9n, combine: (a, b) => (a.n > b.n ? a : b) });
  expectTypeOf(best).resolves.exclude<undefined>().toHaveProperty('n');
});
