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

/** Yields pages, reading some MiB at a time. A page is valid until the next is requested: memory is reused. */
export async function* pagesOf(chunk: ColumnChunk): AsyncGenerator<Page> {
  const { path, file, end, depth, precision, decompress, turns } = chunk;
  let dictionary: FloatArray | undefined;
  let held: Uint8Array = new Uint8Array(0);
  let heldFrom = chunk.from;
  /** Returns the bytes from an offset on: at least `atLeast`, unless the chunk ends before. */
  const bytesFrom = async (at: number, atLeast: number): Promise<Uint8Array> => {
    const needed = Math.min(atLeast, end - at);
    if (at + needed > heldFrom + held.length) {
      const size = Math.min(Math.max(needed, READ_BYTES), end - at);
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
    if (header.bytes > end - at) throw new Error('a page extends past the end of its column');
    const bytes = (await bytesFrom(at, header.bytes)).subarray(0, header.bytes);
    at += header.bytes;
    const { kind, decompressedBytes, entries, encoding } = header;
    if (kind === 'data' || kind === 'data-2') yield await pageIn(header, bytes, depth, decompress, dictionary);
    else if (kind === 'dictionary')
      dictionary = dictionaryIn(await decompress(bytes, decompressedBytes), entries, encoding, precision);
  }
}

/** Small enough to stay in the processor's cache. */
const READ_BYTES = 4 * 2 ** 20;
/** Statistics of floats take some bytes; a longer header is damaged. */
const MAX_HEADER = 65_536;
