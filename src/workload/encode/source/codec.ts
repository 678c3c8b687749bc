import type { EventLoopTurns } from './event-loop-turns.js';

/** Decompresses input to `bytes` bytes, never more. */
export type Codec = (input: Uint8Array, bytes: number, options: CodecOptions) => Promise<Uint8Array>;

export interface CodecOptions {
  /** Allocates the output. */
  readonly allocate: (bytes: number) => Uint8Array;
  readonly turns: EventLoopTurns;
}

/** Output of a codec between two turns of the event loop. */
export const BYTES_PER_YIELD = 4 * 2 ** 20;

type Limits = { readonly maxOutputLength: number; readonly chunkSize: number };
type Decompress<Result> = (input: Uint8Array, limits: Limits) => Result;

/** Wraps a codec of Node: short output synchronously, which is faster, long output in Node's threads. */
export function nodeCodec(
  decompressSync: Decompress<Uint8Array>,
  decompressAsync: Decompress<Promise<Uint8Array>>,
): Codec {
  return async (input, bytes) => {
    const limits = { maxOutputLength: bytes, chunkSize: Math.max(64, Math.min(bytes, BYTES_PER_YIELD)) };
    return bytes <= BYTES_PER_YIELD ? decompressSync(input, limits) : decompressAsync(input, limits);
  };
}
