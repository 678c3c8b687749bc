import type { FileHandle } from 'node:fs/promises';
import type { EventLoopTurns } from '../event-loop-turns.js';
import { readInto } from '../raw.js';
import { badFile } from '../source.js';
import { FlatTable, sizeAt } from './flatbuffer.js';

/** A message: its header, and where its body lies in the file. */
export interface Message {
  readonly kind: 'schema' | 'batch' | 'other';
  readonly header: FlatTable;
  readonly bodyFrom: number;
  readonly bodyBytes: number;
}

export interface ArrowFile {
  readonly path: string;
  readonly file: FileHandle;
  readonly size: number;
  readonly turns: EventLoopTurns;
}

/** The schema, and the record batches in order. `batches` may be called several times. */
export interface Messages {
  readonly schema: FlatTable;
  batches(): AsyncGenerator<Message>;
}

const MAGIC = 'ARROW1';
/** The magic number at the beginning is padded to a multiple of 8. */
const START_BYTES = 8;
/** At the end: the length of the footer, and the magic number. */
const END_BYTES = 4 + MAGIC.length;

/** Arrow's file format ends with a footer that lists the record batches; its stream format is one message after another. */
export async function openMessages(arrowFile: ArrowFile): Promise<Messages> {
  const start = (await read(arrowFile, 0, Math.min(START_BYTES, arrowFile.size))).toString('latin1');
  if (start.startsWith('FEA1'))
    throw badFile(arrowFile.path, 'Feather version 1 is not supported', 'write Feather version 2');
  return start.startsWith(MAGIC) ? openFile(arrowFile) : openStream(arrowFile);
}

async function openFile(arrowFile: ArrowFile): Promise<Messages> {
  const { path, size } = arrowFile;
  const end = size - END_BYTES;
  if (end < START_BYTES) throw truncatedError(path);
  const last = await read(arrowFile, end, END_BYTES);
  const footerBytes = last.readInt32LE(0);
  if (last.toString('latin1', 4) !== MAGIC) throw truncatedError(path);
  const footerFrom = end - footerBytes;
  if (footerBytes < 0 || footerFrom < START_BYTES) {
    throw badFile(path, `its footer of ${footerBytes} bytes is not in the file`, 'check that the file is complete');
  }
  checkMetadata(path, footerBytes);
  const footer = FlatTable.root(await read(arrowFile, footerFrom, footerBytes));
  const schema = footer.table(1);
  if (schema === undefined) throw badFile(path, 'its footer has no schema', 'check that the file is complete');
  return { schema, batches: () => footerBatches(arrowFile, footer, footerFrom) };
}

/** A record batch in the footer: offset, length of the metadata, length of the body. */
const BLOCK_BYTES = 24;

async function* footerBatches(arrowFile: ArrowFile, footer: FlatTable, footerFrom: number): AsyncGenerator<Message> {
  const blocks = footer.structs(3, BLOCK_BYTES);
  // Blocks that share bytes would let a small file stand for any number of rows.
  let left = footerFrom;
  for (let index = 0; index < blocks.count; index++) {
    const from = sizeAt(blocks.view, index * BLOCK_BYTES);
    if (from < START_BYTES || from >= footerFrom) throw misplacedBatchError(arrowFile.path, index);
    const message = await messageAt(arrowFile, from, footerFrom);
    if (message?.kind !== 'batch') throw misplacedBatchError(arrowFile.path, index);
    left -= message.bodyFrom + message.bodyBytes - from;
    if (left < 0) throw badFile(arrowFile.path, 'its record batches overlap', 'check that the file is complete');
    yield message;
  }
}

async function openStream(arrowFile: ArrowFile): Promise<Messages> {
  const first = await messageAt(arrowFile, 0, arrowFile.size);
  if (first?.kind !== 'schema') {
    throw badFile(arrowFile.path, 'not an Arrow file', 'write Arrow IPC, file or stream');
  }
  return { schema: first.header, batches: () => streamBatches(arrowFile, first.bodyFrom + first.bodyBytes) };
}

async function* streamBatches(arrowFile: ArrowFile, from: number): AsyncGenerator<Message> {
  for (let at = from; at < arrowFile.size; ) {
    const message = await messageAt(arrowFile, at, arrowFile.size);
    if (message === undefined) return;
    if (message.kind === 'batch') yield message;
    else await arrowFile.turns.yieldIfDue();
    at = message.bodyFrom + message.bodyBytes;
  }
}

const HEADERS: Readonly<Record<number, Message['kind']>> = { 1: 'schema', 3: 'batch' };
/** Before a message's length since Arrow 0.15. */
const CONTINUATION = -1;

/** Reads a message; undefined at the mark of the stream's end. */
async function messageAt(arrowFile: ArrowFile, at: number, end: number): Promise<Message | undefined> {
  const { path } = arrowFile;
  if (at + 4 > end) throw truncatedError(path);
  const prefix = await read(arrowFile, at, Math.min(8, end - at));
  const hasMark = prefix.readInt32LE(0) === CONTINUATION;
  if (hasMark && prefix.length < 8) throw truncatedError(path);
  const bytes = prefix.readInt32LE(hasMark ? 4 : 0);
  const from = at + (hasMark ? 8 : 4);
  if (bytes === 0) return undefined;
  if (bytes < 0 || from + bytes > end) throw truncatedError(path);
  checkMetadata(path, bytes);
  const message = FlatTable.root(await read(arrowFile, from, bytes));
  const header = message.table(2);
  const bodyBytes = message.size(3);
  if (header === undefined || from + bytes + bodyBytes > end) throw truncatedError(path);
  return { kind: HEADERS[message.int8(1)] ?? 'other', header, bodyFrom: from + bytes, bodyBytes };
}

async function read({ path, file }: ArrowFile, from: number, bytes: number): Promise<Buffer> {
  const into = Buffer.alloc(bytes);
  await readInto(path, file, into, from);
  return into;
}

/** A footer has 24 bytes for each record batch, a schema some dozens for each column. */
const MAX_METADATA = 2 ** 26;

function checkMetadata(path: string, bytes: number): void {
  if (bytes <= MAX_METADATA) return;
  throw badFile(path, `its metadata has ${bytes} bytes in one piece`, `write ${MAX_METADATA} bytes or less`);
}

const truncatedError = (path: string): Error =>
  badFile(path, 'the file is cut short', 'check that the file is complete');

const misplacedBatchError = (path: string, index: number): Error =>
  badFile(path, `record batch ${index} is not where its footer says`, 'check that the file is complete');
