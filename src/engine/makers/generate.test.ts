import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { byTier, isShort } from '../../../test/tier.js';
import type { Device } from '../../device/device.js';
import { listDevices, openDevice } from '../../device/registry.js';
import { items, read, rw, u32 } from '../../kernel/index.js';
import type { Engine } from '../engine.js';
import type { Job } from '../job.js';
import { generate } from './generate.js';
import { search } from './search.js';
import { transform } from './transform.js';

const { devices } = await listDevices();
const ROWS = byTier(3000, 20_000);
const squares = items('squares', { job: { plus: u32 }, buffers: { out: rw(u32) } }, ({ job, index, item, buffers }) => {
  buffers.out.set(item, index.lo.mul(index.lo).add(job.plus));
});
const doubles = items('doubles', { buffers: { x: read(u32), y: rw(u32) } }, ({ item, buffers }) => {
  buffers.y.set(item.mul(2), buffers.x.at(item));
  buffers.y.set(item.mul(2).add(1), buffers.x.at(item).mul(2));
});

const everything = items('everything', { hit: { n: u32 } }, ({ item, emit }) => emit({ n: item }));

test('a search needs a kernel with hits', () => {
  expect(() => search(squares as unknown as typeof everything, { devices: 'interpreter', space: 100 })).toThrow(
    expect.objectContaining({
      code: 'launch-arguments',
      message: [
        'kernel squares declares no hits: a search would find nothing',
        '  asked:  search(squares)',
        '  advice: declare `hit` in its signature and call emit(), or use generate() for its buffers',
      ].join('\n'),
    }),
  );
});

test('kernels of one factory have one name and run with their own arguments', async () => {
  const times = (factor: number) =>
    items('times', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo.mul(factor) }));
  const device = await openDevice('interpreter');
  try {
    const found = [3, 5].map(async (factor) => {
      const products: number[] = [];
      for await (const { n } of search(times(factor), { devices: device, space: 4 })) products.push(n);
      return products;
    });
    expect(await Promise.all(found)).toEqual([
      [0, 3, 6, 9],
      [0, 5, 10, 15],
    ]);
  } finally {
    await device.close();
  }
});

test('a part of a search has the hits of the part', async () => {
  let part: Job<readonly { readonly index: bigint }[]>['part'] | undefined;
  const run = (job: Job<readonly { readonly index: bigint }[]>): never => {
    ({ part } = job);
    throw new Error('not run');
  };
  const found = search(everything, { engine: { run } as unknown as Engine, space: 100 });
  await expect(found.first()).rejects.toThrow('not run');
  const hits = [9n, 10n, 19n, 20n].map((index) => ({ index }));
  expect(part?.({ start: 0n, count: 30 }, hits, { start: 10n, count: 10 })).toEqual([{ index: 10n }, { index: 19n }]);
});

test('a part of a batch has the rows of the part', async () => {
  let part: Job<Uint8Array>['part'] | undefined;
  const run = (job: Job<Uint8Array>): never => {
    ({ part } = job);
    throw new Error('not run');
  };
  const engine = { run } as unknown as Engine;
  const batches = generate(squares, { engine, space: 100, rowBytes: 4, job: { plus: 0 } });
  await expect(batches[Symbol.asyncIterator]().next()).rejects.toThrow('not run');
  const rows = Uint32Array.from({ length: 30 }, (_, k) => k);
  const found = part?.({ start: 50n, count: 30 }, new Uint8Array(rows.buffer), { start: 60n, count: 10 });
  expect(found && [...new Uint32Array(found.slice().buffer)]).toEqual([...rows.slice(10, 20)]);
});

describe.each(devices.filter(({ processor }) => processor === 'cpu').map(({ id }) => id))('%s', (id) => {
  let device: Device;
  beforeAll(async () => {
    device = await openDevice(id);
  });
  afterAll(() => device?.close());

  test('generates rows in order', async () => {
    let next = 0n;
    const all: number[] = [];
    const options = { devices: device, space: ROWS, rowBytes: 4, batchBytes: 4096, job: { plus: 5 } };
    for await (const batch of generate(squares, options)) {
      expect(batch.start).toBe(next);
      next += BigInt(batch.count);
      all.push(...new Uint32Array(batch.bytes.slice().buffer));
      batch.release();
    }
    expect(all).toEqual(Array.from({ length: ROWS }, (_, k) => (Math.imul(k, k) + 5) >>> 0));
  });

  // This tests host code, which is the same for all devices: short runs skip it where compiling is slow.
  test.skipIf(isShort && id.startsWith('opencl'))('transforms rows into rows', async () => {
    const all: number[] = [];
    const given = [1, 1000, 37, 4000, 2].map((length, at) => Uint32Array.from({ length }, (_, k) => at * 10_000 + k));
    const wanted = given.flatMap((view) => [...view].flatMap((x) => [x, 2 * x]));
    for await (const batch of transform(doubles, given, {
      devices: device,
      inputBytes: 4,
      rowBytes: 8,
      batchBytes: 4096,
    })) {
      all.push(...new Uint32Array(batch.bytes.slice().buffer));
      batch.release();
    }
    expect(all).toEqual(wanted);
    for await (const _ of transform(doubles, [], { devices: device, inputBytes: 4, rowBytes: 8 }))
      expect.fail('got a batch for no input');
  });
});
