import type { FileHandle } from 'node:fs/promises';
import { decompressorFor } from '../decompress.js';
import type { EventLoopTurns } from '../event-loop-turns.js';
import { readInto } from '../raw.js';
import { sizeAt } from './flatbuffer.js';
import type { BufferRange, ColumnLayout } from './metadata.js';

/** A buffer of a record batch. */
export interface ArrowBuffer {
  /** Decompressed size. */
  readonly bytes: number;
  /** Fills an array with the bytes from `at` on. */
  read(into: Uint8Array, at: number): Promise<void>;
}

export interface MessageBody {
  readonly path: string;
  readonly file: FileHandle;
  /** Where the message's body begins in the file. */
  readonly from: number;
  readonly compression: ColumnLayout['compression'];
  readonly turns: EventLoopTurns;
}

/**
 * Opens a buffer. A compressed one is decompressed whole, others are read on demand. Throws if it has fewer than `needed`
 * bytes.
 */
export async function openBuffer(body: MessageBody, region: BufferRange, needed: number): Promise<ArrowBuffer> {
  const buffer = await openRange(body, region);
  if (buffer.bytes < needed) throw new Error(`a buffer has ${buffer.bytes} bytes, its rows need ${needed}`);
  return buffer;
}

async function openRange(body: MessageBody, region: BufferRange): Promise<ArrowBuffer> {
  const from = body.from + region.from;
  if (body.compression === undefined || region.bytes === 0) return new FileBuffer(body, from, region.bytes);
  if (region.bytes < LENGTH_BYTES) throw new Error(`a compressed buffer has ${region.bytes} bytes`);
  const packed = new Uint8Array(region.bytes);
  await readInto(body.path, body.file, packed, from);
  const view = new DataView(packed.buffer);
  if (view.getBigInt64(0, true) === NOT_COMPRESSED) {
    return new FileBuffer(body, from + LENGTH_BYTES, region.bytes - LENGTH_BYTES);
  }
  const unpacked = sizeAt(view, 0);
  const codec = body.compression === 'lz4' ? 'LZ4_FRAME' : 'ZSTD';
  return new MemoryBuffer(await decompressorFor(codec, body.turns)(packed.subarray(LENGTH_BYTES), unpacked));
}

/** A compressed buffer begins with its decompressed length. */
const LENGTH_BYTES = 8;
const NOT_COMPRESSED = -1n;

class FileBuffer implements ArrowBuffer {
  readonly #body: MessageBody;
  readonly #from: number;
  readonly bytes: number;
  /** The bytes read last: short reads are mostly consecutive. */
  #window = new Uint8Array(0);
  #windowAt = 0;

  constructor(body: MessageBody, from: number, bytes: number) {
    this.#body = body;
    this.#from = from;
    this.bytes = bytes;
  }

  async read(into: Uint8Array, at: number): Promise<void> {
    checkRead(this, into, at);
    const { path, file } = this.#body;
    if (into.length >= WINDOW_BYTES) return readInto(path, file, into, this.#from + at);
    if (at < this.#windowAt || at + into.length > this.#windowAt + this.#window.length) {
      this.#window = new Uint8Array(Math.min(WINDOW_BYTES, this.bytes - at));
      this.#windowAt = at;
      await readInto(path, file, this.#window, this.#from + at);
    }
    into.set(this.#window.subarray(at - this.#windowAt, at - this.#windowAt + into.length));
  }
}

const WINDOW_BYTES = 2 ** 18;

class MemoryBuffer implements ArrowBuffer {
  readonly #content: Uint8Array;

  constructor(content: Uint8Array) {
    this.#content = content;
  }

  get bytes(): number {
    return this.#content.length;
  }

  async read(into: Uint8Array, at: number): Promise<void> {
    checkRead(this, into, at);
    into.set(this.#content.subarray(at, at + into.length));
  }
}

function checkRead({ bytes }: ArrowBuffer, into: Uint8Array, at: number): void {
  if (at + into.length > bytes) throw new Error(`a buffer has ${bytes} bytes, its rows need ${at + into.length}`);
}
