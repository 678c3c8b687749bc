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
  /** How many there are, where that is known before they are read. */
  readonly samples: number | undefined;
  /** What they are stored as. */
  readonly precision: Precision;
  /** Arrays of whole samples, one after the other. Those that need no conversion are read into `room`, where there is one. */
  batches(allocate?: AllocateValues): AsyncIterable<Values>;
  close(): Promise<void>;
}

export interface SourceOptions {
  /** Samples that are read at a time; default: what takes about 8 MiB. */
  readonly batch?: number;
  /** What a null in a column becomes: 0, or an error. */
  readonly nulls?: 'fill_zero' | 'reject';
  /** Of raw binary files, which say nothing of themselves. */
  readonly length?: number;
  /** Ends the reading, also of a file that takes long to parse. */
  readonly signal?: AbortSignal;
}

type OpenReader = (path: string, options: SourceOptions) => Promise<Source>;

/** By the ending of the name. Readers are loaded when they are needed. */
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
      ? 'files of PyTorch are programs, which are not run here'
      : `files that end in ${ending || 'nothing'} are not known`,
    asked: `the samples in ${path}`,
    advice: isTorch ? 'save the tensor by numpy.save, as .npy' : `there are ${sourceExtensions.join(', ')}`,
  });
}

/** Samples that are read at a time, where nobody says. */
export const samplesPerRead = (length: number, bytes: number, { batch }: SourceOptions): number =>
  batch ?? Math.max(1, Math.floor(READ_BYTES / (length * bytes)));

const READ_BYTES = 8 * 2 ** 20;

/** The same source, whose samples are given only once. */
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

/** The same batches; an error of a reader becomes one that names the file and, if `where` is given, the place in it. */
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

/** A file that is not what its name says, or not what can be encoded. */
export function badFile(path: string, message: string, advice: string, cause?: unknown): EncodeError {
  return new EncodeError('format', { message: `${path}: ${message}`, asked: `the samples in ${path}`, advice, cause });
}

/** The same for its type, and for its dimensions. */
export function badType(path: string, message: string, advice: string): EncodeError {
  return new EncodeError('dtype', { message: `${path}: ${message}`, asked: `the samples in ${path}`, advice });
}

export function badRank(path: string, rank: number): EncodeError {
  return new EncodeError('rank', {
    message: `${path}: it has ${rank} dimensions`,
    asked: `the samples in ${path}`,
    advice: 'give two: samples and their values',
  });
}
