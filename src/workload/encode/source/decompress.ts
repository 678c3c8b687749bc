import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { type Codec, nodeCodec } from './codec.js';
import type { EventLoopTurns } from './event-loop-turns.js';
import { lz4Block, lz4Frame } from './lz4.js';
import { snappy } from './snappy.js';
import { zstd } from './zstd.js';

/**
 * Decompresses. The file says how many bytes come out; any other number is an error. The bytes are valid until the next
 * call.
 */
export type Decompressor = (input: Uint8Array, bytes: number) => Promise<Uint8Array>;

/** By Parquet's names; LZ4_FRAME is Arrow's. Codecs that are not listed are no longer written. */
export function decompressorFor(codec: string, turns: EventLoopTurns): Decompressor {
  const unpack = codecs[codec];
  if (unpack === undefined) throw new Error(`compression ${codec} is not supported`);
  // The same memory for each page: new memory is cleared by the system, which takes as long as the copy.
  let output = new Uint8Array(0);
  const allocate = (bytes: number): Uint8Array => {
    if (output.length < bytes) output = new Uint8Array(bytes);
    return output.subarray(0, bytes);
  };
  return async (input, bytes) => {
    if (bytes === 0) return EMPTY;
    const found = await unpack(input, bytes, { allocate, turns });
    if (found.length !== bytes) throw new Error(`a page was decompressed to ${found.length} bytes instead of ${bytes}`);
    return found;
  };
}

const EMPTY = new Uint8Array(0);

const codecs: Readonly<Record<string, Codec>> = {
  UNCOMPRESSED: async (input) => input,
  SNAPPY: snappy,
  GZIP: nodeCodec(zlib.gunzipSync, promisify(zlib.gunzip)),
  BROTLI: nodeCodec(zlib.brotliDecompressSync, promisify(zlib.brotliDecompress)),
  LZ4_RAW: lz4Block,
  LZ4_FRAME: lz4Frame,
  ZSTD: zstd,
};
