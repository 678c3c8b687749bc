import * as zlib from 'node:zlib';
import { lz4Block } from './lz4.js';

/** What pages of Parquet are compressed by, besides snappy, which the reader knows itself. */
export const decompressors: Readonly<Record<string, (input: Uint8Array, bytes: number) => Uint8Array>> = {
  GZIP: (input) => zlib.gunzipSync(input),
  BROTLI: (input) => zlib.brotliDecompressSync(input),
  LZ4_RAW: lz4Block,
  ZSTD: zstd,
};

/** Node has it from 22.15 on. */
export function zstd(input: Uint8Array): Uint8Array {
  const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (input: Uint8Array) => Uint8Array };
  if (zstdDecompressSync) return zstdDecompressSync(input);
  throw new Error(
    'it is compressed by zstd, which this Node does not know: use Node 22.15, or write it by lz4 or snappy',
  );
}
