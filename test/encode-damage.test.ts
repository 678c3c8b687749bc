import { readFileSync } from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Field, Float64, List, Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, describe, expect, test } from 'vitest';
import { loadError } from '../src/device/native/libc.js';
import { MillraceError } from '../src/kernel/error.js';
import { decompressorFor } from '../src/workload/encode/source/decompress.js';
import { EventLoopTurns } from '../src/workload/encode/source/event-loop-turns.js';
import { openSource, type SourceOptions } from '../src/workload/encode/source/source.js';
import { start } from './command-line.js';
import { byTier, isLong, patience } from './tier.js';

/** Damaged files give data or a clear error, with little memory. Reading a slow file can be interrupted. */
const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const data = (name: string): string => new URL(`./data/encode/${name}`, import.meta.url).pathname;

/** The values of a file; `most` is the length of the largest array that the reader requested. */
async function read(path: string, options: SourceOptions = {}): Promise<{ values: number[]; most: number }> {
  const source = await openSource(path, options);
  const values: number[] = [];
  let most = 0;
  try {
    const room = async (count: number): Promise<Float64Array> => {
      most = Math.max(most, count);
      return new Float64Array(count);
    };
    for await (const part of source.batches(source.precision === 'f64' ? room : undefined)) {
      most = Math.max(most, part.length);
      if (values.length < 1000) values.push(...part.slice(0, 1000));
    }
  } finally {
    await source.close();
  }
  return { values, most };
}

/** Mulberry32: the same mutations in every run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return Math.floor((((x ^ (x >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Edge values for lengths, counts and offsets. */
const ODD = [0, 1, -1, 0x7fffffff, -0x80000000, 0x00ffffff, 8, 1 << 20];

function mutated(whole: Buffer, next: (below: number) => number): Buffer {
  const bytes = Buffer.from(whole);
  for (let edits = 1 + next(3); edits > 0; edits--) {
    const at = next(bytes.length - 8);
    const kind = next(5);
    if (kind === 0) bytes[at] = next(256);
    else if (kind === 1) bytes[at] = (bytes[at] ?? 0) ^ (1 << next(8));
    else if (kind === 2) bytes.writeInt32LE(ODD[next(ODD.length)] ?? 0, at - (at % 4));
    else if (kind === 3) bytes.writeInt32LE(next(4 * bytes.length), at - (at % 4));
    else bytes.copy(bytes, at, next(bytes.length - 8), bytes.length);
  }
  return next(10) === 0 ? bytes.subarray(0, next(bytes.length)) : bytes;
}

describe('Arrow', () => {
  test.each(['endless.arrow', 'heap.arrow'])('%s is rejected', async (name) => {
    const error = await read(data(`damaged/${name}`)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MillraceError);
    expect(error).toMatchObject({ code: 'input-format', message: expect.stringContaining(name) });
  });

  const names = ['lists', 'fixed', 'large-lists', 'floats', 'nulls', 'lz4', 'zstd', 'stream', 'polars'];
  const count = byTier(20, 300, 22_000);

  test(`${count} mutations give data or a clear error, and no array is much larger than the file`, {
    timeout: isLong ? 1_200_000 : 60_000,
  }, async () => {
    const bases = names.map((name) => readFileSync(data(`peers/${name}.arrow`)));
    const listed = vectorFromArray([[1, 2], null, [3, null]], new List(new Field('item', new Float64(), true)));
    bases.push(Buffer.from(tableToIPC(new Table({ x: listed }), 'stream')));
    const next = random(23);
    let refused = 0;
    for (let at = 0; at < count; at++) {
      const bytes = mutated(bases[at % bases.length] ?? Buffer.alloc(0), next);
      const path = join(folder, 'mutated.arrow');
      await writeFile(path, bytes);
      try {
        const { most } = await read(path, { batch: 1 + next(4), nulls: next(2) === 0 ? 'reject' : 'fill_zero' });
        // LZ4 makes at most 255 bytes of one, and a batch has up to four rows.
        expect(most, `mutation ${at}`).toBeLessThan(4 * 255 * bytes.length);
      } catch (error) {
        expect(error, `mutation ${at}`).toBeInstanceOf(MillraceError);
        expect((error as MillraceError).message, `mutation ${at}`).not.toMatch(/undefined|NaN|DataView|Invalid/);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(count / 10);
    expect(refused).toBeLessThan(count);
  });
});

describe('Parquet footers', () => {
  const fileOf = async (footer: Uint8Array): Promise<string> => {
    const path = join(folder, 'footer.parquet');
    const size = Buffer.alloc(4);
    size.writeUInt32LE(footer.length);
    await writeFile(path, Buffer.concat([Buffer.from('PAR1'), footer, size, Buffer.from('PAR1')]));
    return path;
  };

  test('nested lists that claim 2^25 elements each get no memory', async () => {
    // Field 2 is a list of 2^25 lists, of which the first is a list of 2^25 lists, and so on.
    const many = [0xf9, 0x80, 0x80, 0x80, 0x10];
    const footer = Uint8Array.from([0x29, ...new Array(200).fill(many).flat()]);
    const before = process.memoryUsage().heapUsed;
    await expect(read(await fileOf(footer))).rejects.toMatchObject({ code: 'input-format' });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6);
  });

  test('a number of a million bytes is rejected', async () => {
    const footer = new Uint8Array(2 ** 20).fill(0xff);
    footer[0] = 0x36; // field 3, of 64 bits
    await expect(read(await fileOf(footer))).rejects.toThrow(/64 bits/);
  });
});

describe('an abort interrupts a slow reader', () => {
  /** Aborts the work after 1 ms. Resolves to the name of its error, or 'ended'. */
  async function interrupted(work: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), 1);
    try {
      return await work(controller.signal).then(
        () => 'ended',
        (error: unknown) => (error instanceof Error ? error.name : error),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  test('.pb', async () => {
    const path = join(folder, 'fields.pb');
    await sparse(path, 2 ** 24); // eight million fields of two bytes
    expect(await interrupted((signal) => openSource(path, { signal }))).toBe('AbortError');
  });

  test('.npy in Fortran order', async () => {
    const path = join(folder, 'fortran.npy');
    const header = Buffer.alloc(128, ' ');
    header.write("\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': True, 'shape': (512, 8192), }", 'latin1');
    await sparse(path, 128 + 8 * 2 ** 22, header);
    const all = async (signal: AbortSignal) => read(path, { batch: 512, signal });
    expect(await interrupted(all)).toBe('AbortError');
  });

  test('Parquet', async () => {
    const column = { name: 'x', data: new Float64Array(byTier(2 ** 18, 2 ** 20)), type: 'DOUBLE' as const };
    const path = join(folder, 'long.parquet');
    await writeFile(path, new Uint8Array(parquetWriteBuffer({ columnData: [column], rowGroupSize: 4096 })));
    expect(await interrupted((signal) => read(path, { batch: 64, signal }))).toBe('AbortError');
  });

  const library = process.platform === 'darwin' ? 'libzstd.1.dylib' : 'libzstd.so.1';

  test.for(byTier<(keyof typeof zeros)[]>(['ZSTD'], ['ZSTD', 'GZIP', 'LZ4_RAW', 'SNAPPY']))(
    'a long page, %s',
    async (codec, { skip }) => {
      if (codec === 'ZSTD' && loadError(library) !== undefined) skip('no libzstd');
      const { packed, size } = zeros[codec]();
      let ticks = 0;
      const timer = setInterval(() => ticks++, 1);
      const found = await decompressorFor(codec, new EventLoopTurns())(packed, size);
      clearInterval(timer);
      expect(Buffer.alloc(size).equals(found)).toBe(true);
      expect(ticks).toBeGreaterThan(0);
    },
  );
});

/** Zeros, compressed by hand in each format so that they are slow to decompress. */
const zeros = {
  /** Blocks that repeat one byte 2^17 times. */
  ZSTD: () => {
    const size = 2 ** 28;
    const packed = Buffer.alloc(9 + 4 * (size / 2 ** 17));
    packed.set([0x28, 0xb5, 0x2f, 0xfd, 0xa0]);
    packed.writeUInt32LE(size, 5);
    for (let at = 9; at < packed.length; at += 4) packed.writeUInt32LE(((2 ** 17) << 3) | 2, at);
    packed[packed.length - 4] = 3;
    return { packed, size };
  },
  GZIP: () => ({ packed: gzipSync(Buffer.alloc(2 ** 26), { level: 1 }), size: 2 ** 26 }),
  /** A byte, then four more copied from one byte back; a last byte. */
  LZ4_RAW: () => ({ packed: Buffer.concat([repeated([0x10, 0, 1, 0]), Buffer.of(0x10, 0)]), size: 5 * TIMES + 1 }),
  SNAPPY: () => ({ packed: Buffer.concat([varint(5 * TIMES), repeated([0, 0, 1, 1])]), size: 5 * TIMES }),
};
const TIMES = 2 ** 22;
const repeated = (bytes: number[]): Buffer => Buffer.alloc(TIMES * bytes.length, Buffer.from(bytes));
const varint = (value: number): Buffer =>
  Buffer.from([0, 7, 14, 21, 28].map((shift) => ((value >>> shift) & 127) | (shift < 28 ? 128 : 0)));

test('a first SIGTERM ends a command that parses a file, within two seconds', async () => {
  const path = join(folder, 'endless.pb');
  await sparse(path, 2 ** 29);
  const { child, until, ended } = start(['encode', path, '--json', '--device', 'wasm']);
  await until(({ event }) => event === 'start');
  const begun = performance.now();
  child.kill('SIGTERM');
  const { status } = await ended;
  expect(status).toBe(3);
  // Two seconds on an idle machine.
  expect(performance.now() - begun).toBeLessThan(patience(10_000));
});

/** A file of zeros that takes no space on the disk. */
async function sparse(path: string, size: number, start?: Uint8Array): Promise<void> {
  const file = await open(path, 'w');
  try {
    if (start) await file.write(start);
    await file.truncate(size);
  } finally {
    await file.close();
  }
}
