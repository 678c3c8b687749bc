import { open } from 'node:fs/promises';
import type { AllocateValues } from '../job/staging-pool.js';
import { MAX_QUBITS, type Precision, realBytes } from '../kernel/encoding.js';
import { RowChecks } from './column.js';
import { type Decompressor, decompressorFor } from './decompress.js';
import { EventLoopTurns } from './event-loop-turns.js';
import { type ColumnChunk, pagesOf } from './parquet/chunk.js';
import { footerOf } from './parquet/footer.js';
import type { Page } from './parquet/page.js';
import { RowScanner } from './parquet/rows.js';
import { columnOf } from './parquet/schema.js';
import type { FloatArray } from './parquet/values.js';
import { allocateValues } from './raw.js';
import { badFile, type Source, type SourceOptions, samplesPerRead, withFileErrors } from './source.js';

/** Opens a file of one column: lists of floats, or a float per row. Values are decoded into the allocated arrays. */
export async function openParquet(path: string, options: SourceOptions): Promise<Source> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const footer = await footerOf(path, file, size);
    const { depth, precision } = columnOf(path, footer.elements);
    const checks = new RowChecks(path, options);
    const turns = new EventLoopTurns(options.signal);
    const codecs = new Map<string, Decompressor>();
    const groups = footer.groups.map(({ codec, ...group }, at): NumberedChunk => {
      const decompress = codecs.get(codec) ?? decompressorFor(codec, turns);
      codecs.set(codec, decompress);
      return { ...group, at, path, file, depth, precision, decompress, turns };
    });
    const { length, items } = await firstRowIn(path, groups, new RowScanner(depth, checks));
    const samples = groups.reduce((sum, { rows }) => sum + rows, 0);
    const atATime = samplesPerRead(length, realBytes(precision), options);
    return {
      length,
      samples,
      precision,
      batches(allocate = allocateValues) {
        const rows = new RowScanner(depth, checks, length);
        const made = batchesOf({ items, samples, length, atATime, precision }, rows, allocate);
        return withFileErrors(path, made, () => `about row ${Math.max(0, rows.rowsBegun - 1)}`);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

interface NumberedChunk extends ColumnChunk {
  /** Its number in the file, and how many rows it has. */
  readonly at: number;
  readonly rows: number;
}

/** A page, or a row group after its last page. */
type PageOrGroupEnd = Page | NumberedChunk;

async function* itemsIn(groups: readonly NumberedChunk[]): AsyncGenerator<PageOrGroupEnd> {
  for (const group of groups) {
    yield* pagesOf(group);
    yield group;
  }
}

interface FirstRow {
  readonly length: number;
  /** The whole column, from its beginning. */
  readonly items: AsyncIterable<PageOrGroupEnd>;
}

/** Finds the length of the first row that is not null. It mostly ends in the first page, which is then not read again. */
async function firstRowIn(path: string, groups: readonly NumberedChunk[], rows: RowScanner): Promise<FirstRow> {
  const items = itemsIn(groups);
  let first: PageOrGroupEnd | undefined;
  for (let read = 0; rows.length === undefined; read++) {
    const { value: item, done } = await items.next();
    if (done) break;
    first = read === 0 ? item : undefined;
    if ('rows' in item) rows.end();
    else for (const _ of rows.page(item)) if (rows.length !== undefined) break;
  }
  const { length = 0 } = rows;
  if (length === 0) throw badFile(path, 'the file has no values', 'write at least one row that is not null');
  if (length > 2 ** MAX_QUBITS) throw badFile(path, `a row has ${length} values`, `write at most 2^${MAX_QUBITS}`);
  return { length, items: first ? prepend(first, items) : itemsIn(groups) };
}

async function* prepend<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

interface BatchRequest {
  readonly items: AsyncIterable<PageOrGroupEnd>;
  readonly samples: number;
  readonly length: number;
  readonly atATime: number;
  readonly precision: Precision;
}

/** Yields batches of whole rows. A row may span pages, and a page may span batches. */
async function* batchesOf(asked: BatchRequest, rows: RowScanner, allocate: AllocateValues): AsyncGenerator<FloatArray> {
  const { items, samples, length, atATime, precision } = asked;
  let left = samples;
  let filled = 0;
  let batch: FloatArray | undefined;
  let before = 0;
  for await (const item of items) {
    if ('rows' in item) {
      rows.end();
      checkRows(item, rows.rowsBegun - before);
      before = rows.rowsBegun;
      continue;
    }
    for (const { count, isZero } of rows.page(item)) {
      for (let done = 0; done < count; ) {
        // A full batch is yielded when more values follow: only then is its last row known to have ended.
        if (batch && filled === batch.length) {
          yield batch;
          batch = undefined;
        }
        if (batch === undefined) {
          const own = Math.min(atATime, left);
          if (own === 0) throw new Error(`the file has more rows than the ${samples} of its footer`);
          batch = await allocate(own * length, precision);
          left -= own;
          filled = 0;
        }
        const some = Math.min(count - done, batch.length - filled);
        if (isZero) batch.fill(0, filled, filled + some);
        else item.values.read(batch, filled, some);
        filled += some;
        done += some;
      }
    }
  }
  if (batch) yield batch;
}

function checkRows({ at, rows }: NumberedChunk, found: number): void {
  if (found !== rows) throw new Error(`row group ${at} has ${found} rows instead of the ${rows} of the footer`);
}
