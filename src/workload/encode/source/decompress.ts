import * as zlib from 'node:zlib';
import { lz4Block } from './lz4.js';
import { snappy } from './snappy.js';
import { zstd } from './zstd.js';

/**
 * Gives the bytes that were compressed. How many there are is said by the file: neither more nor fewer come out. They are
 * good until the next are asked for.
 */
export type Unpack = (input: Uint8Array, bytes: number) => Uint8Array;

/** By the names that Parquet has for them. Those that are not of this list have been given up by their writers. */
export function unpackBy(codec: string): Unpack {
  const unpack = codecs[codec];
  if (unpack === undefined) throw new Error(`it is compressed by ${codec}, which is not read here`);
  // The same memory for each page: new memory is cleared by the system, which takes as long as the copy.
  let held = new Uint8Array(0);
  const room = (bytes: number): Uint8Array => {
    if (held.length < bytes) held = new Uint8Array(bytes);
    return held.subarray(0, bytes);
  };
  return (input, bytes) => {
    if (bytes === 0) return NOTHING;
    const found = unpack(input, bytes, room);
    if (found.length !== bytes) throw new Error(`${found.length} bytes came out of a page that has ${bytes}`);
    return found;
  };
}

const NOTHING = new Uint8Array(0);

type Codec = (input: Uint8Array, bytes: number, room: (bytes: number) => Uint8Array) => Uint8Array;

const codecs: Readonly<Record<string, Codec>> = {
  UNCOMPRESSED: (input) => input,
  SNAPPY: snappy,
  GZIP: (input, bytes) => zlib.gunzipSync(input, limits(bytes)),
  BROTLI: (input, bytes) => zlib.brotliDecompressSync(input, limits(bytes)),
  LZ4_RAW: lz4Block,
  ZSTD: zstd,
};

/** What would come out beyond the bytes that are expected is not made: a page of 1 kB may say anything of itself. */
const limits = (bytes: number) => ({ maxOutputLength: bytes, chunkSize: Math.max(64, Math.min(bytes, MOST_CHUNK)) });

const MOST_CHUNK = 4 * 2 ** 20;
