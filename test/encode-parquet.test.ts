import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { afterAll, describe, expect, test } from 'vitest';
import { MillraceError } from '../src/kernel/error.js';
import { EncodeError } from '../src/workload/encode/job/errors.js';
import type { AllocateValues } from '../src/workload/encode/job/staging-pool.js';
import { valuesIn } from '../src/workload/encode/source/parquet/values.js';
import { openSource, type SourceOptions } from '../src/workload/encode/source/source.js';
import { type FileLook, parquetFile, type Row } from './encode/parquet-file.js';
import { byTier, isLong } from './tier.js';

/** Pages of every form are read as written, and as hyparquet reads them; broken ones are errors. */
const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The same files in every run except the long one. */
const runs = (count: number): fc.Parameters<unknown> =>
  isLong ? { numRuns: 10 * count } : { numRuns: Math.ceil(count / byTier(4, 1)), seed: 20_261_115 };

const path = join(folder, 'x.parquet');

/** Memory like a device's: shared, used before, and limited. */
const usedRoom: AllocateValues = async (values, precision) => {
  if (values > 2 ** 24) throw new RangeError(`${values} values requested`);
  const memory = new SharedArrayBuffer(8 * values);
  const rows = precision === 'f64' ? new Float64Array(memory) : new Float32Array(memory, 0, values);
  return rows.fill(Number.NaN);
};

async function rowsIn(bytes: Uint8Array, options: SourceOptions = {}, most = Number.POSITIVE_INFINITY) {
  await writeFile(path, bytes);
  const source = await openSource(path, options);
  const rows: number[][] = [];
  try {
    for await (const values of source.batches(usedRoom)) {
      expect(values.length % source.length).toBe(0);
      for (let at = 0; at < values.length; at += source.length) rows.push([...values.slice(at, at + source.length)]);
      if (rows.length > most) break;
    }
  } finally {
    await source.close();
  }
  return { rows, source };
}

const looks = fc
  .record({
    type: fc.constantFrom('DOUBLE' as const, 'FLOAT' as const),
    shape: fc.constantFrom(
      'list' as const,
      'list' as const,
      'required' as const,
      'repeated' as const,
      'value' as const,
    ),
    codec: fc.constantFrom('UNCOMPRESSED' as const, 'SNAPPY' as const, 'GZIP' as const),
    pages: fc.array(
      fc.record({
        entries: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 400 })),
        version: fc.constantFrom(1 as const, 2 as const),
        values: fc.constantFrom('plain' as const, 'dictionary' as const, 'split' as const),
        packed: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    length: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 6, max: 90 })),
    rows: fc.integer({ min: 1, max: 12 }),
    groups: fc.integer({ min: 1, max: 3 }),
    /** Per cent of the rows, and of the values. */
    nullRows: fc.constantFrom(0, 0, 30),
    nullValues: fc.constantFrom(0, 0, 20),
    /** Few distinct values make long runs of dictionary indices. */
    distinct: fc.constantFrom(1, 2, 7, 300),
    seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
  })
  .map(({ length, rows, groups, nullRows, nullValues, distinct, seed, ...look }): FileLook => {
    const random = randoms(seed);
    const mayBeNull = look.shape === 'list' || look.shape === 'value';
    const row = (): Row => {
      if (mayBeNull && random(100) < nullRows) return null;
      const own = look.shape === 'value' ? 1 : length;
      return Array.from({ length: own }, () =>
        look.shape === 'list' && random(100) < nullValues ? null : Math.fround((random(distinct) - 3) / 7),
      );
    };
    const all = Array.from({ length: groups }, () => Array.from({ length: rows }, row));
    // At least one row has values.
    all[groups - 1]![rows - 1] = Array.from({ length: look.shape === 'value' ? 1 : length }, (_, i) => i + 1);
    return { ...look, groups: all };
  });

function randoms(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

const asRead = ({ groups }: FileLook): number[][] => {
  const rows = groups.flat();
  const { length } = rows.find((row) => row !== null)!;
  return rows.map((row) => (row ?? Array.from({ length }, () => 0)).map((value) => value ?? 0));
};

describe('pages of every form', () => {
  test('give the written values, in batches of any size', async () => {
    await fc.assert(
      fc.asyncProperty(looks, fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }), async (look, batch) => {
        const { rows, source } = await rowsIn(parquetFile(look), batch === undefined ? {} : { batch });
        expect(rows).toEqual(asRead(look));
        expect(source.samples).toBe(rows.length);
        expect(source.precision).toBe(look.type === 'DOUBLE' ? 'f64' : 'f32');
      }),
      runs(200),
    );
  });

  test('give the same rows as hyparquet', async () => {
    await fc.assert(
      // hyparquet loses repeated values outside a list that continue in the next page.
      fc.asyncProperty(
        looks.filter(({ shape }) => shape !== 'repeated'),
        async (look) => {
          const { rows } = await rowsIn(parquetFile(look));
          const compressors = { GZIP: (input: Uint8Array) => zlib.gunzipSync(input) };
          const found = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
          const cells = found.map(({ x }) => x as number | (number | null)[] | null | undefined);
          const theirs = cells.map((cell): Row => (typeof cell === 'number' ? [cell] : (cell ?? null)));
          expect(rows).toEqual(asRead({ ...look, groups: [theirs.map((row) => row && [...row])] }));
        },
      ),
      runs(60),
    );
  });

  test('that are broken are errors that name the file', async () => {
    const harm = fc.oneof(
      fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) }),
      fc.record({ at: fc.nat(), byte: fc.constantFrom(0, 1, 127, 128, 255) }),
      fc.record({ at: fc.nat(), byte: fc.constant(-1) }),
    );
    let rejected = 0;
    await fc.assert(
      fc.asyncProperty(looks, fc.array(harm, { minLength: 1, maxLength: 3 }), async (look, harms) => {
        let bytes = Uint8Array.from(parquetFile(look));
        for (const { at, byte } of harms) {
          if (byte < 0) bytes = bytes.slice(0, at % bytes.length);
          else if (bytes.length > 0) bytes[at % bytes.length] = byte;
        }
        await rowsIn(bytes, {}, 10_000).catch((error) => {
          expect(error).toBeInstanceOf(MillraceError);
          expect((error as MillraceError).message).toContain(path);
          rejected++;
        });
      }),
      runs(300),
    );
    expect(rejected).toBeGreaterThan(0);
  });

  // 0 is PLAIN, 9 is BYTE_STREAM_SPLIT.
  test.each([0, 9])('with fewer values than they should have are refused, in encoding %i', (encoding) => {
    const into = new Float64Array(2);
    const page = valuesIn(new Uint8Array(Float64Array.of(1.5).buffer), encoding, undefined);
    expect(() => page.read(into, 0, 2)).toThrow('a page has fewer values than its header says');
    page.read(into, 0, 1);
    expect(into[0]).toBe(1.5);
  });
});

describe('rows', () => {
  const look = (groups: readonly (readonly Row[])[], entries = 3): FileLook => ({
    groups,
    type: 'DOUBLE',
    shape: 'list',
    codec: 'SNAPPY',
    pages: [{ entries, version: 1, values: 'plain', packed: [false, true] }],
  });
  const refusal = async (groups: readonly (readonly Row[])[], options?: SourceOptions): Promise<unknown> => {
    const error = await rowsIn(parquetFile(look(groups)), options).catch((reason) => reason);
    expect(error).toBeInstanceOf(EncodeError);
    return error;
  };

  test('of another length are named in the error, whether longer, shorter or empty', async () => {
    expect(
      await refusal([
        [
          [1, 2],
          [3, 4, 5],
        ],
      ]),
    ).toMatchObject({ fault: 'size', sample: 1 });
    expect(await refusal([[[1, 2]], [[3, 4], [5]]])).toMatchObject({ fault: 'size', sample: 2 });
    expect(await refusal([[[1, 2], []]])).toMatchObject({ fault: 'size', sample: 1 });
    expect(
      await refusal([
        [
          [1, 2],
          [3, 4, 5, 6, 7, 8, 9],
        ],
      ]),
    ).toMatchObject({ message: expect.stringMatching(/7 values/) });
    expect(await refusal([[[], []]])).toMatchObject({ message: expect.stringMatching(/no values/) });
    expect(await refusal([[null], [null]])).toMatchObject({ message: expect.stringMatching(/no values/) });
  });

  test('that are null become zeros, also before the first row with a length', async () => {
    const groups = [[null, null], [null], [[1, null, 3], null]];
    expect((await rowsIn(parquetFile(look(groups)))).rows).toEqual(asRead(look(groups)));
    expect(await refusal(groups, { nulls: 'reject' })).toMatchObject({ fault: 'format', sample: 0 });
    expect(await refusal([[[1, 2]], [[3, null]]], { nulls: 'reject' })).toMatchObject({ sample: 1, position: 1 });
  });

  test('of 65,536 values are read from pages that end anywhere', async () => {
    const row = (seed: number): number[] => Array.from({ length: 65_536 }, (_, i) => (i * seed) % 1013);
    const groups = [[row(3), row(5)], [row(7)]];
    const pages = [
      { entries: 50_000, version: 1 as const, values: 'dictionary' as const, packed: [false, true] },
      { entries: 9_999, version: 1 as const, values: 'plain' as const, packed: [false] },
    ];
    const { rows } = await rowsIn(parquetFile({ ...look(groups), pages }));
    expect(rows.map((one) => one.join())).toEqual(groups.flat().map((one) => one.join()));
  });
});
