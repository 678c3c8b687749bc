import { type FileHandle, open } from 'node:fs/promises';
import { EncodeError } from '../job/errors.js';
import type { AllocateValues } from '../job/staging-pool.js';
import { type Precision, realBytes } from '../kernel/encoding.js';
import { badFile, type Source, type SourceOptions, samplesPerRead } from './source.js';

/** Opens a file of little-endian floats. The caller gives the values per sample. */
export async function openRaw(path: string, precision: Precision, options: SourceOptions): Promise<Source> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const { length } = options;
    if (length === undefined) {
      throw new EncodeError('source', {
        message: `${path}: raw binary files do not contain the length of a sample`,
        asked: `the samples in ${path}`,
        advice: 'give --length',
      });
    }
    const samples = size / (length * realBytes(precision));
    if (!Number.isInteger(samples) || samples < 1) {
      throw badFile(
        path,
        `${size} bytes are not a whole number of samples of ${length} ${precision} values`,
        'check --length',
      );
    }
    return samplesIn({ path, file, from: 0, samples, length, precision }, options);
  } catch (error) {
    await file.close();
    throw error;
  }
}

export interface RawSamples {
  readonly path: string;
  readonly file: FileHandle;
  /** Offset of the first value. */
  readonly from: number;
  readonly samples: number;
  readonly length: number;
  readonly precision: Precision;
}

/** A source of samples stored as in memory: they are read into the allocated arrays. */
export function samplesIn(stored: RawSamples, options: SourceOptions): Source {
  const { path, file, from, samples, length, precision } = stored;
  const bytes = realBytes(precision);
  const atATime = samplesPerRead(length, bytes, options);
  return {
    length,
    samples,
    precision,
    async *batches(allocate = allocateValues) {
      for (let first = 0; first < samples; first += atATime) {
        const count = Math.min(atATime, samples - first) * length;
        const values = await allocate(count, precision);
        await readInto(path, file, values, from + first * length * bytes);
        yield values;
      }
    },
    close: () => file.close(),
  };
}

export const allocateValues: AllocateValues = async (values, precision) =>
  precision === 'f64' ? new Float64Array(values) : new Float32Array(values);

/** Reads with several threads: one copies 3 to 6 GB/s from the system's cache, a bus takes 50. */
export async function readInto(path: string, file: FileHandle, into: ArrayBufferView, position: number): Promise<void> {
  const { buffer, byteOffset, byteLength } = into;
  const part = Math.max(MIN_READ, Math.ceil(byteLength / READERS));
  const parts: Promise<void>[] = [];
  for (let at = 0; at < byteLength; at += part) {
    const bytes = new Uint8Array(buffer, byteOffset + at, Math.min(part, byteLength - at));
    parts.push(read(path, file, bytes, position + at));
  }
  await Promise.all(parts);
}

/** The default number of Node's threads for files. */
const READERS = 4;
const MIN_READ = 2 ** 20;
/** The system takes less than 2^31 bytes at a time. */
const MAX_READ = 2 ** 30;

async function read(path: string, file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, Math.min(MAX_READ, bytes.length - done), position + done);
    if (bytesRead === 0) throw badFile(path, 'the file ends before its last sample', 'check that the file is complete');
    done += bytesRead;
  }
}
