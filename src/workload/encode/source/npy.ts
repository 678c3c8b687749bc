import { type FileHandle, open } from 'node:fs/promises';
import { EventLoopTurns } from './event-loop-turns.js';
import { samplesIn } from './raw.js';
import { badFile, badRank, badType, type Source, type SourceOptions, samplesPerRead } from './source.js';

/** NumPy's format: a header with type, order and shape, then the values. */
export async function openNpy(path: string, options: SourceOptions): Promise<Source> {
  const file = await open(path, 'r');
  try {
    const { descr, isFortran, shape, from } = await headerOf(path, file);
    if (descr !== '<f8') {
      throw badType(path, `its values are ${descr}, not float64`, 'save it with .astype(numpy.float64)');
    }
    if (shape.length !== 2) throw badRank(path, shape.length);
    const [samples = 0, length = 0] = shape;
    if (samples === 0 || length === 0) {
      throw badFile(path, `its shape is ${samples} × ${length}`, 'at least one sample of one value is needed');
    }
    const { size } = await file.stat();
    if (size < from + 8 * samples * length) {
      throw badFile(
        path,
        `${size} bytes are too few for ${samples} × ${length} values`,
        'check that the file is complete',
      );
    }
    const source = samplesIn({ path, file, from, samples, length, precision: 'f64' }, options);
    return isFortran ? { ...source, batches: () => columnsAsRows(source, samples, length, options) } : source;
  } catch (error) {
    await file.close();
    throw error;
  }
}

interface Header {
  readonly descr: string;
  readonly isFortran: boolean;
  readonly shape: readonly number[];
  /** Where the values begin. */
  readonly from: number;
}

/** Longer headers belong to structured types, which are not supported. */
const MAX_HEADER = 65_536;

async function headerOf(path: string, file: FileHandle): Promise<Header> {
  const start = Buffer.alloc(12);
  const { bytesRead } = await file.read(start, 0, 12, 0);
  if (bytesRead < 12 || start.toString('latin1', 0, 6) !== '\x93NUMPY') {
    throw badFile(path, 'not a .npy file', 'write it with numpy.save');
  }
  const isOld = start[6] === 1;
  const size = isOld ? start.readUInt16LE(8) : start.readUInt32LE(8);
  const before = isOld ? 10 : 12;
  const text = Buffer.alloc(Math.min(size, MAX_HEADER));
  const read = await file.read(text, 0, text.length, before);
  const header = text.toString('latin1');
  const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const shape = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  if (size > MAX_HEADER || read.bytesRead < size || descr === undefined || order === undefined || shape === undefined) {
    throw badFile(path, 'its header cannot be parsed', 'write an array of numbers with numpy.save');
  }
  const sides = shape.split(',').flatMap((side) => (side.trim() === '' ? [] : Number(side)));
  return { descr, isFortran: order === 'True', shape: sides, from: before + size };
}

/** Transposes a file in column order, which is read whole. */
async function* columnsAsRows(
  source: Source,
  samples: number,
  length: number,
  options: SourceOptions,
): AsyncGenerator<Float64Array> {
  const all = new Float64Array(samples * length);
  let at = 0;
  for await (const part of source.batches()) {
    all.set(part, at);
    at += part.length;
  }
  const atATime = samplesPerRead(length, 8, options);
  const turns = new EventLoopTurns(options.signal);
  for (let first = 0; first < samples; first += atATime) {
    const count = Math.min(atATime, samples - first);
    const rows = new Float64Array(count * length);
    for (let value = 0; value < length; value++) {
      await turns.yieldIfDue();
      for (let row = 0; row < count; row++)
        rows[row * length + value] = all[value * samples + first + row] ?? Number.NaN;
    }
    yield rows;
  }
}
