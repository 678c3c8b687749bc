import type { EventLoopTurns } from './event-loop-turns.js';

/** Decompresses input of which `bytes` should come out; more are not made. */
export type Codec = (input: Uint8Array, bytes: number, options: CodecOptions) => Promise<Uint8Array>;

export interface CodecOptions {
  /** Memory for what comes out. */
  readonly allocate: (bytes: number) => Uint8Array;
  readonly turns: EventLoopTurns;
}

/** Output of a codec between two turns of the loop. */
export const BYTES_PER_YIELD = 4 * 2 ** 20;

type Limits = { readonly maxOutputLength: number; readonly chunkSize: number };
type Decompress<Result> = (input: Uint8Array, limits: Limits) => Result;

/** One of Node's codecs: short input at once, which is sooner, long input piece by piece in Node's threads. */
export function nodeCodec(
  decompressSync: Decompress<Uint8Array>,
  decompressAsync: Decompress<Promise<Uint8Array>>,
): Codec {
  return async (input, bytes) => {
    const limits = { maxOutputLength: bytes, chunkSize: Math.max(64, Math.min(bytes, BYTES_PER_YIELD)) };
    return bytes <= BYTES_PER_YIELD ? decompressSync(input, limits) : decompressAsync(input, limits);
  };
}
