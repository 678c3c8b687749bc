import { extname } from 'node:path';
import { MillraceError } from '../../../kernel/error.js';
import { EncodeError } from '../job/errors.js';
import type { Values } from '../job/rows.js';
import type { AllocateValues } from '../job/staging-pool.js';
import type { Precision } from '../kernel/encoding.js';

/** Samples of one length, from a file. They are read once. */
export interface Source {
  /** Values of a sample. */
  readonly length: number;
  /** Number of samples, if known before they are read. */
  readonly samples: number | undefined;
  /** The stored type. */
  readonly precision: Precision;
  /** Yields arrays of whole samples. Values that need no conversion are read into arrays from `allocate`. */
  batches(allocate?: AllocateValues): AsyncIterable<Values>;
  close(): Promise<void>;
}

export interface SourceOptions {
  /** Samples read at a time; default: about 8 MiB. */
  readonly batch?: number;
  /** Replaces nulls in a column by 0, or throws. Default `fill_zero`. */
  readonly nulls?: 'fill_zero' | 'reject';
  /** Values per sample, for raw binary files. */
  readonly length?: number;
  /** Aborts reading, even while a file is parsed. */
  readonly signal?: AbortSignal;
}

type OpenReader = (path: string, options: SourceOptions) => Promise<Source>;

/** Readers by file name extension, loaded on demand. */
const readers: Readonly<Record<string, OpenReader>> = {
  '.npy': async (path, options) => (await import('./npy.js')).openNpy(path, options),
  '.f64': async (path, options) => (await import('./raw.js')).openRaw(path, 'f64', options),
  '.f32': async (path, options) => (await import('./raw.js')).openRaw(path, 'f32', options),
  '.bin': async (path, options) => (await import('./raw.js')).openRaw(path, 'f64', options),
  '.pb': async (path, options) => (await import('./tensor-proto.js')).openTensorProto(path, options),
  '.parquet': async (path, options) => (await import('./parquet.js')).openParquet(path, options),
  '.arrow': async (path, options) => (await import('./arrow.js')).openArrow(path, options),
  '.feather': async (path, options) => (await import('./arrow.js')).openArrow(path, options),
  '.ipc': async (path, options) => (await import('./arrow.js')).openArrow(path, options),
};

export const sourceExtensions = Object.keys(readers);

/** Opens a file of samples. */
export async function openSource(path: string, options: SourceOptions = {}): Promise<Source> {
  const ending = extname(path).toLowerCase();
  const open = readers[ending];
  if (open) return readOnce(await withReadError(path, () => open(path, options)), path);
  const isTorch = ending === '.pt' || ending === '.pth';
  throw new EncodeError('source', {
    message: isTorch
      ? 'PyTorch files are programs, which are not run'
      : `unknown file type ${ending || '(no extension)'}`,
    asked: `the samples in ${path}`,
    advice: isTorch ? 'save the tensor with numpy.save, as .npy' : `use ${sourceExtensions.join(', ')}`,
  });
}

/** Returns the number of samples to read at a time. */
export const samplesPerRead = (length: number, bytes: number, { batch }: SourceOptions): number =>
  batch ?? Math.max(1, Math.floor(READ_BYTES / (length * bytes)));

const READ_BYTES = 8 * 2 ** 20;

/** Wraps a source so that a second reading throws. */
function readOnce(source: Source, path: string): Source {
  let isRead = false;
  return {
    ...source,
    batches: (allocate) => {
      if (isRead) {
        throw new EncodeError('consumed', {
          message: 'the samples have been read already',
          asked: `the samples in ${path} once more`,
          advice: 'open the file again',
        });
      }
      isRead = true;
      return source.batches(allocate);
    },
  };
}

async function withReadError<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw asReadError(path, error);
  }
}

/** Yields the same batches. An error of a reader becomes one that names the file and, with `where`, the position. */
export async function* withFileErrors<T>(
  path: string,
  batches: AsyncIterable<T>,
  where?: () => string,
): AsyncGenerator<T> {
  try {
    yield* batches;
  } catch (error) {
    throw asReadError(path, error, where?.());
  }
}

function asReadError(path: string, error: unknown, where?: string): unknown {
  if (!(error instanceof Error) || error instanceof MillraceError || error.name === 'AbortError') return error;
  const { message } = error;
  if (!('code' in error && 'syscall' in error)) {
    return badFile(path, where ? `${where}: ${message}` : message, 'check that the file is complete', error);
  }
  return new MillraceError({
    code: 'io',
    message,
    asked: path,
    advice: 'check that the file exists and can be read',
    cause: error,
  });
}

/** The error of a file that is damaged or cannot be encoded. */
export function badFile(path: string, message: string, advice: string, cause?: unknown): EncodeError {
  return new EncodeError('format', { message: `${path}: ${message}`, asked: `the samples in ${path}`, advice, cause });
}

/** The error of an unsupported type. */
export function badType(path: string, message: string, advice: string): EncodeError {
  return new EncodeError('dtype', { message: `${path}: ${message}`, asked: `the samples in ${path}`, advice });
}

export function badRank(path: string, rank: number): EncodeError {
  return new EncodeError('rank', {
    message: `${path}: the array has ${rank} dimensions`,
    asked: `the samples in ${path}`,
    advice: 'give two: samples and their values',
  });
}
