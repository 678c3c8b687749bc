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

/** The schema, and all record batches in order each time they are asked for. */
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
export async function openMessages(given: ArrowFile): Promise<Messages> {
  const start = (await read(given, 0, Math.min(START_BYTES, given.size))).toString('latin1');
  if (start.startsWith('FEA1')) throw badFile(given.path, 'it is of Feather version 1', 'write Feather version 2');
  return start.startsWith(MAGIC) ? openFile(given) : openStream(given);
}

async function openFile(given: ArrowFile): Promise<Messages> {
  const { path, size } = given;
  const end = size - END_BYTES;
  if (end < START_BYTES) throw truncatedError(path);
  const last = await read(given, end, END_BYTES);
  const footerBytes = last.readInt32LE(0);
  if (last.toString('latin1', 4) !== MAGIC) throw truncatedError(path);
  const footerFrom = end - footerBytes;
  if (footerBytes < 0 || footerFrom < START_BYTES) {
    throw badFile(path, `its footer of ${footerBytes} bytes is not in it`, 'check that the file is complete');
  }
  checkMetadata(path, footerBytes);
  const footer = FlatTable.root(await read(given, footerFrom, footerBytes));
  const schema = footer.table(1);
  if (schema === undefined) throw badFile(path, 'its footer has no schema', 'check that the file is complete');
  return { schema, batches: () => footerBatches(given, footer, footerFrom) };
}

/** A record batch in the footer: offset, length of the metadata, length of the body. */
const BLOCK_BYTES = 24;

async function* footerBatches(given: ArrowFile, footer: FlatTable, footerFrom: number): AsyncGenerator<Message> {
  const blocks = footer.structs(3, BLOCK_BYTES);
  // Blocks that share bytes would let a small file stand for any number of rows.
  let left = footerFrom;
  for (let index = 0; index < blocks.count; index++) {
    const from = sizeAt(blocks.view, index * BLOCK_BYTES);
    if (from < START_BYTES || from >= footerFrom) throw misplacedBatchError(given.path, index);
    const message = await messageAt(given, from, footerFrom);
    if (message?.kind !== 'batch') throw misplacedBatchError(given.path, index);
    left -= message.bodyFrom + message.bodyBytes - from;
    if (left < 0) throw badFile(given.path, 'its record batches overlap', 'check that the file is complete');
    yield message;
  }
}

async function openStream(given: ArrowFile): Promise<Messages> {
  const first = await messageAt(given, 0, given.size);
  if (first?.kind !== 'schema') {
    throw badFile(given.path, 'it does not begin as an Arrow file does', 'write Arrow IPC, file or stream');
  }
  return { schema: first.header, batches: () => streamBatches(given, first.bodyFrom + first.bodyBytes) };
}

async function* streamBatches(given: ArrowFile, from: number): AsyncGenerator<Message> {
  for (let at = from; at < given.size; ) {
    const message = await messageAt(given, at, given.size);
    if (message === undefined) return;
    if (message.kind === 'batch') yield message;
    else await given.turns.yieldIfDue();
    at = message.bodyFrom + message.bodyBytes;
  }
}

const HEADERS: Readonly<Record<number, Message['kind']>> = { 1: 'schema', 3: 'batch' };
/** Before a message's length since Arrow 0.15. */
const CONTINUATION = -1;

/** Undefined where the end of the stream is marked. */
async function messageAt(given: ArrowFile, at: number, end: number): Promise<Message | undefined> {
  const { path } = given;
  if (at + 4 > end) throw truncatedError(path);
  const prefix = await read(given, at, Math.min(8, end - at));
  const hasMark = prefix.readInt32LE(0) === CONTINUATION;
  if (hasMark && prefix.length < 8) throw truncatedError(path);
  const bytes = prefix.readInt32LE(hasMark ? 4 : 0);
  const from = at + (hasMark ? 8 : 4);
  if (bytes === 0) return undefined;
  if (bytes < 0 || from + bytes > end) throw truncatedError(path);
  checkMetadata(path, bytes);
  const message = FlatTable.root(await read(given, from, bytes));
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
  throw badFile(path, `it has ${bytes} bytes of metadata in one piece`, `write ${MAX_METADATA} bytes or less`);
}

const truncatedError = (path: string): Error => badFile(path, 'it ends too early', 'check that the file is complete');

const misplacedBatchError = (path: string, index: number): Error =>
  badFile(path, `record batch ${index} is not where its footer says`, 'check that the file is complete');
