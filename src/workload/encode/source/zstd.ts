import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { koffi } from '../../../device/native/koffi.js';
import { addressOf, loadForever, symbolAddress } from '../../../device/native/libc.js';
import { BYTES_PER_YIELD, type CodecOptions, nodeCodec } from './codec.js';

/**
 * Zstandard, the default of Polars. The system's library is preferred, because it writes into existing memory; Node has its
 * own from 22.15 on.
 */
export async function zstd(input: Uint8Array, bytes: number, options: CodecOptions): Promise<Uint8Array> {
  const library = systemLibrary();
  if (library === undefined) return nodeZstd()(input, bytes, options);
  // A block of 4 bytes with its header makes at most 128 KiB, which limits the memory for an input.
  if (bytes > MAX_RATIO * input.length) throw corruptPage();
  const output = options.allocate(bytes);
  if (bytes <= BYTES_PER_YIELD) {
    // SAFETY: it stays within the given lengths, and both arrays are held until it returns.
    const size = library.decompress(addressOf(output), output.length, addressOf(input), input.length);
    if (library.isError(size)) throw corruptPage();
    return output.subarray(0, Number(size));
  }
  return decompressInPieces(library, input, output, options);
}

const MAX_RATIO = 2 ** 17 / 4;

/** Decompresses some MiB at a time: a buffer may take seconds, and signals must be handled meanwhile. */
async function decompressInPieces(
  library: Library,
  input: Uint8Array,
  output: Uint8Array,
  { turns }: CodecOptions,
): Promise<Uint8Array> {
  const context = library.createStream();
  if (!context) throw new Error('no memory to decompress a page');
  library.setParameter(context, WINDOW_LOG_MAX, 31);
  // Address, size and position, as ZSTD_inBuffer and ZSTD_outBuffer have them.
  const from = BigUint64Array.of(BigInt(addressOf(input)), BigInt(input.length), 0n);
  const to = BigUint64Array.of(BigInt(addressOf(output)), 0n, 0n);
  try {
    for (;;) {
      const [made, taken] = [to[2], from[2]];
      to[1] = BigInt(Math.min(Number(made) + BYTES_PER_YIELD, output.length));
      // SAFETY: it reads `from` up to its size and writes `to` up to its size, which lie within arrays held until then.
      const left = library.decompressStream(context, addressOf(to), addressOf(from));
      if (library.isError(left)) throw corruptPage();
      if (Number(left) === 0 && from[2] === from[1]) break; // the last frame has ended
      // The input has ended within a frame, or the output is full and more would come.
      if (to[2] === made && from[2] === taken) throw corruptPage();
      await turns.yieldIfDue();
    }
  } finally {
    library.freeStream(context);
  }
  return output.subarray(0, Number(to[2]));
}

/** ZSTD_d_windowLogMax: by default a stream refuses windows of more than 2^27 bytes. */
const WINDOW_LOG_MAX = 100;

const corruptPage = (): Error => new Error('Zstandard data is damaged, or longer than expected');

function nodeZstd() {
  const { zstdDecompressSync, zstdDecompress } = zlib as unknown as {
    zstdDecompressSync?: typeof zlib.gunzipSync;
    zstdDecompress?: typeof zlib.gunzip;
  };
  if (zstdDecompressSync && zstdDecompress) return nodeCodec(zstdDecompressSync, promisify(zstdDecompress));
  throw new Error(
    'the file is compressed by zstd, which needs libzstd or Node 22.15: install one of them, or write the file with lz4 or snappy',
  );
}

interface Library {
  decompress(into: number, capacity: number, from: number, bytes: number): number | bigint;
  isError(size: number | bigint): number;
  createStream(): number | bigint;
  decompressStream(context: number | bigint, to: number, from: number): number | bigint;
  setParameter(context: number | bigint, name: number, value: number): number | bigint;
  freeStream(context: number | bigint): number | bigint;
}

let cachedLibrary: Library | null | undefined;

function systemLibrary(): Library | undefined {
  if (cachedLibrary === undefined) cachedLibrary = loadLibrary() ?? null;
  return cachedLibrary ?? undefined;
}

function loadLibrary(): Library | undefined {
  try {
    const library = loadForever(process.platform === 'darwin' ? 'libzstd.1.dylib' : 'libzstd.so.1');
    // SAFETY: the library is never unloaded, and these are its types in all of its versions 1.
    const bind = (result: string, name: string, takes: string) =>
      koffi().decode(BigInt(symbolAddress(library, name)), koffi().proto(`${result} ${name}(${takes})`));
    return {
      decompress: bind('size_t', 'ZSTD_decompress', 'uint64_t into, size_t capacity, uint64_t from, size_t bytes'),
      isError: bind('unsigned int', 'ZSTD_isError', 'size_t size'),
      createStream: bind('uint64_t', 'ZSTD_createDStream', ''),
      decompressStream: bind('size_t', 'ZSTD_decompressStream', 'uint64_t context, uint64_t to, uint64_t from'),
      setParameter: bind('size_t', 'ZSTD_DCtx_setParameter', 'uint64_t context, int name, int value'),
      freeStream: bind('size_t', 'ZSTD_freeDStream', 'uint64_t context'),
    };
  } catch {
    return undefined;
  }
}
