import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { loadError } from '../src/device/native/libc.js';
import { EncodeError } from '../src/workload/encode/job/errors.js';
import { EventLoopTurns } from '../src/workload/encode/source/event-loop-turns.js';
import { lz4Block, lz4Frame } from '../src/workload/encode/source/lz4.js';
import { openSource, type SourceOptions } from '../src/workload/encode/source/source.js';

/** Files that other writers made (`data/encode/peers/write.py`): PyArrow, Polars, DuckDB. */
const peers = new URL('./data/encode/peers/', import.meta.url);
const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Expected {
  readonly writer: string;
  readonly rows?: number[][];
  readonly nullAt?: { readonly sample: number };
  readonly fault?: string;
  readonly sample?: number;
}
const files = Object.entries(JSON.parse(readFileSync(new URL('files.json', peers), 'utf8'))) as [string, Expected][];
const given = (name: string): string => new URL(name, peers).pathname;
const library = process.platform === 'darwin' ? 'libzstd.1.dylib' : 'libzstd.so.1';
const hasZstd = 'zstdDecompressSync' in zlib || loadError(library) === undefined;

async function rowsIn(path: string, options: SourceOptions = {}): Promise<number[][]> {
  const source = await openSource(path, options);
  const rows: number[][] = [];
  try {
    for await (const values of source.batches()) {
      for (let at = 0; at < values.length; at += source.length) rows.push([...values.slice(at, at + source.length)]);
    }
  } finally {
    await source.close();
  }
  return rows;
}

async function refusal(promise: Promise<unknown>): Promise<EncodeError> {
  const error = await promise.then(
    (value) => value,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(EncodeError);
  return error as EncodeError;
}

describe('files of other writers', () => {
  test.for(files)('%s', async ([name, { rows, nullAt, fault, sample }]) => {
    if (name.startsWith('zstd') && !hasZstd) {
      expect((await refusal(rowsIn(given(name)))).message).toMatch(/compressed by zstd.*Node 22\.15/);
      return;
    }
    if (rows === undefined) {
      expect(await refusal(rowsIn(given(name)))).toMatchObject({ fault, ...(sample !== undefined && { sample }) });
      return;
    }
    expect(await rowsIn(given(name))).toEqual(rows);
    for (const batch of [1, 2, 3]) expect(await rowsIn(given(name), { batch })).toEqual(rows);
    if (nullAt) expect(await refusal(rowsIn(given(name), { nulls: 'reject' }))).toMatchObject(nullAt);
  });

  test('a truncated file is rejected, wherever it ends', async () => {
    for (const name of ['lists.parquet', 'gzip.parquet', 'lz4.parquet', 'lists.arrow', 'default.feather']) {
      const whole = readFileSync(given(name));
      for (const share of [0.1, 0.5, 0.9]) {
        const path = join(folder, `cut${extname(name)}`);
        await writeFile(path, whole.subarray(0, Math.floor(whole.length * share)));
        expect((await refusal(rowsIn(path))).fault).toBe('format');
      }
    }
  });
});

describe('LZ4', () => {
  // By the format's specification: a token, literals, two bytes of distance; matches may overlap themselves.
  const block = [0x4a, 1, 2, 3, 4, 2, 0, 0x10, 9];

  const options = { turns: new EventLoopTurns() };
  const unblock = async (bytes: readonly number[], size: number) => [
    ...(await lz4Block(Uint8Array.from(bytes), size, options)),
  ];
  const unframe = async (bytes: readonly number[], size: number) => [
    ...(await lz4Frame(Uint8Array.from(bytes), size, options)),
  ];

  test('blocks, frames, stored blocks and lengths above 15 are decoded', async () => {
    const expected = [1, 2, 3, 4, ...Array.from({ length: 14 }, (_, i) => (i % 2 === 0 ? 3 : 4)), 9];
    expect(await unblock(block, 19)).toEqual(expected);
    const header = [0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0];
    const stored = [3, 0, 0, 0x80, 7, 8, 9];
    const frame = [...header, block.length, 0, 0, 0, ...block, ...stored, 0, 0, 0, 0];
    expect(await unframe(frame, 22)).toEqual([...expected, 7, 8, 9]);
    await expect(unframe(frame, 21)).rejects.toThrow(/longer than expected/);
    await expect(unframe(frame.slice(0, -2), 22)).rejects.toThrow(/cut short/);
    const long = [0xf0, 255, 0, ...new Uint8Array(270).fill(5)];
    expect(await unblock(long, 270)).toEqual([...new Uint8Array(270).fill(5)]);
  });

  test('invalid input throws', async () => {
    expect(await unblock(block.slice(0, 5), 19)).toEqual([1, 2, 3, 4]);
    await expect(unblock(block.slice(0, 6), 19)).rejects.toThrow(/cut short/);
    await expect(unblock(block, 18)).rejects.toThrow(/longer than expected/);
    await expect(unblock([0x10, 1, 9, 0, 0], 19)).rejects.toThrow(/before the output/);
    await expect(unframe([1, 2, 3, 4, 5, 6, 7, 8], 19)).rejects.toThrow(/not an LZ4 frame/);
  });
});
