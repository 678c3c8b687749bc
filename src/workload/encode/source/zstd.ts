import * as zlib from 'node:zlib';
import koffi from 'koffi';
import { addressOf, loadForever, symbolIn } from '../../../device/native/libc.js';

/**
 * Zstandard, which Polars compresses by unless told otherwise. The system's library is asked first, since it writes into
 * memory that is there already; Node has its own from 22.15 on.
 */
export function zstd(input: Uint8Array, bytes: number, room: (bytes: number) => Uint8Array): Uint8Array {
  const library = systemLibrary();
  if (library === undefined) return byNode(input, bytes);
  const output = room(bytes);
  // SAFETY: it reads and writes no more than it is told of, and both arrays are held until it returns.
  const size = library.decompress(addressOf(output), output.length, addressOf(input), input.length);
  if (library.isError(size)) throw new Error('Zstandard finds that a page is broken, or longer than it says');
  return output.subarray(0, Number(size));
}

/** The same where nobody but the frame itself says how much comes out. */
export function zstdFrame(input: Uint8Array): Uint8Array {
  const library = systemLibrary();
  // SAFETY: it looks at the first bytes of an array that is held until it returns.
  const bytes = library && Number(library.contentSize(addressOf(input), input.length));
  if (bytes === undefined || bytes > MOST_BYTES) return byNode(input, MOST_BYTES);
  return bytes === 0 ? new Uint8Array(0) : zstd(input, bytes, (size) => new Uint8Array(size));
}

/** Of one column of one part of a file; what says more of itself, or nothing, is made piece by piece. */
const MOST_BYTES = 2 ** 31 - 1;

function byNode(input: Uint8Array, bytes: number): Uint8Array {
  type Decompress = (input: Uint8Array, options: zlib.ZlibOptions) => Uint8Array;
  const { zstdDecompressSync } = zlib as { zstdDecompressSync?: Decompress };
  if (zstdDecompressSync) {
    return zstdDecompressSync(input, { maxOutputLength: bytes, chunkSize: Math.max(64, Math.min(bytes, 2 ** 22)) });
  }
  throw new Error(
    'it is compressed by zstd, which neither this Node nor this system knows: use Node 22.15 or install libzstd, or write it by lz4 or snappy',
  );
}

interface Library {
  decompress(into: number, capacity: number, from: number, bytes: number): number | bigint;
  isError(size: number | bigint): number;
  contentSize(from: number, bytes: number): number | bigint;
}

let found: Library | null | undefined;

function systemLibrary(): Library | undefined {
  if (found === undefined) found = loaded() ?? null;
  return found ?? undefined;
}

function loaded(): Library | undefined {
  try {
    const library = loadForever(process.platform === 'darwin' ? 'libzstd.1.dylib' : 'libzstd.so.1');
    // SAFETY: the library is never unloaded, and these are its types in all of its versions 1.
    const bind = (result: string, name: string, takes: string) =>
      koffi.decode(BigInt(symbolIn(library, name)), koffi.proto(`${result} ${name}(${takes})`));
    return {
      decompress: bind('size_t', 'ZSTD_decompress', 'uint64_t into, size_t capacity, uint64_t from, size_t bytes'),
      isError: bind('unsigned int', 'ZSTD_isError', 'size_t size'),
      contentSize: bind('uint64_t', 'ZSTD_getFrameContentSize', 'uint64_t from, size_t bytes'),
    };
  } catch {
    return undefined;
  }
}
