import type { FileHandle } from 'node:fs/promises';
import type { Precision } from '../../kernel/encoding.js';
import type { Decompressor } from '../decompress.js';
import type { EventLoopTurns } from '../event-loop-turns.js';
import { readInto } from '../raw.js';
import { pageHeaderAt } from './header.js';
import { type ColumnDepth, type Page, pageIn } from './page.js';
import { dictionaryIn, type FloatArray } from './values.js';

/** The pages of a column that belong to one row group, one after the other in the file. */
export interface ColumnChunk {
  readonly path: string;
  readonly file: FileHandle;
  readonly from: number;
  readonly end: number;
  readonly depth: ColumnDepth;
  readonly precision: Precision;
  readonly decompress: Decompressor;
  readonly turns: EventLoopTurns;
}

/** Reads some MiB at a time. A page is good until the next is asked for: it lies in memory that is used again. */
export async function* pagesOf(chunk: ColumnChunk): AsyncGenerator<Page> {
  const { path, file, end, depth, precision, decompress, turns } = chunk;
  let dictionary: FloatArray | undefined;
  let held: Uint8Array = new Uint8Array(0);
  let heldFrom = chunk.from;
  /** As many bytes as there are from a place on; at least so many where the chunk has them. */
  const bytesFrom = async (at: number, atLeast: number): Promise<Uint8Array> => {
    const wanted = Math.min(atLeast, end - at);
    if (at + wanted > heldFrom + held.length) {
      const size = Math.min(Math.max(wanted, READ_BYTES), end - at);
      const into = held.buffer.byteLength >= size ? held.buffer : new ArrayBuffer(size);
      held = new Uint8Array(into, 0, size);
      heldFrom = at;
      await readInto(path, file, held, at);
    }
    return held.subarray(at - heldFrom);
  };
  for (let at = chunk.from; at < end; ) {
    await turns.yieldIfDue();
    const header = pageHeaderAt(await bytesFrom(at, MAX_HEADER), 0);
    at += header.end;
    if (header.bytes > end - at) throw new Error('a page goes on past the end of its column');
    const bytes = (await bytesFrom(at, header.bytes)).subarray(0, header.bytes);
    at += header.bytes;
    const { kind, decompressedBytes, entries, encoding } = header;
    if (kind === 'data' || kind === 'data-2') yield await pageIn(header, bytes, depth, decompress, dictionary);
    else if (kind === 'dictionary')
      dictionary = dictionaryIn(await decompress(bytes, decompressedBytes), entries, encoding, precision);
  }
}

/** What lies between two readings stays in the processor's cache. */
const READ_BYTES = 4 * 2 ** 20;
/** Statistics of floats are some bytes; a header of more than this is none. */
const MAX_HEADER = 65_536;
