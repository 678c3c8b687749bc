import type { Device } from '../../../device/device.js';
import { type EncoderOptions, openEncoder } from '../job/encoder.js';
import { EncodeError } from '../job/errors.js';
import type { Values } from '../job/rows.js';
import type { EncodedStates } from '../job/states.js';
import { checkQubits } from '../job/validate.js';
import {
  type Encoding,
  encodingOf,
  lengthOf,
  type Precision,
  precisionOf,
  type QubitOrder,
  type StateShape,
} from '../kernel/encoding.js';
import { openSource, type Source, type SourceOptions } from '../source/source.js';
import { syntheticBatches } from './synthetic.js';

interface LoaderSettings {
  readonly qubits: number;
  readonly encoding: Encoding;
  readonly size: number;
  readonly total: number;
  readonly seed: bigint;
  readonly precision: Precision | undefined;
  readonly order: QubitOrder;
  readonly prefetch: number;
  readonly nulls: NonNullable<SourceOptions['nulls']>;
  readonly file: string | undefined;
  readonly isSynthetic: boolean;
}

const defaults: LoaderSettings = {
  qubits: 16,
  encoding: 'amplitude',
  size: 64,
  total: 100,
  seed: 0n,
  precision: undefined,
  order: 'little',
  prefetch: 4,
  nulls: 'fill_zero',
  file: undefined,
  isSynthetic: false,
};

/**
 * Batches of encoded states, described step by step; each step gives a new loader. Arguments are checked
 * at once; the file is opened when the loader is iterated.
 *
 *   for await (const states of loader(device).qubits(10).encoding('angle').file('angles.parquet')) { … states.release(); }
 */
export class Loader {
  readonly #device: Device;
  readonly #settings: LoaderSettings;

  constructor(device: Device, settings: LoaderSettings = defaults) {
    this.#device = device;
    this.#settings = settings;
  }

  qubits(count: number): Loader {
    checkQubits(count);
    return this.#with({ qubits: count });
  }

  encoding(name: string): Loader {
    return this.#with({ encoding: encodingOf(name) });
  }

  /** Sets the number of batches of synthetic data, and the samples per batch. A file is read to its end. */
  batches(total: number, size = this.#settings.size): Loader {
    return this.#with({ total: positive(total, 'batches'), size: positive(size, 'samples of a batch') });
  }

  /** Sets the precision of states. Default: that of the file, f32 for synthetic data. */
  dtype(name: string): Loader {
    return this.#with({ precision: precisionOf(name) });
  }

  seed(value: bigint | number): Loader {
    const seed = BigInt(value);
    if (seed < 0n || seed >= 2n ** 64n)
      throw settingError(`invalid seed ${value}`, 'give a whole number from 0 to 2^64 − 1');
    return this.#with({ seed });
  }

  order(order: QubitOrder): Loader {
    return this.#with({ order });
  }

  /** Sets the number of batches in flight. */
  prefetch(batches: number): Loader {
    return this.#with({ prefetch: positive(batches, 'batches in flight') });
  }

  nulls(policy: LoaderSettings['nulls']): Loader {
    return this.#with({ nulls: policy });
  }

  file(path: string): Loader {
    return this.#with({ file: path });
  }

  synthetic(): Loader {
    return this.#with({ isSynthetic: true });
  }

  /** States stay on the device until they are released. Leaving the loop early ends the reading. */
  async *[Symbol.asyncIterator](): AsyncGenerator<EncodedStates, void, undefined> {
    const { file, isSynthetic, size, prefetch, nulls } = this.#settings;
    if (file !== undefined && isSynthetic) throw settingError('two sources were given', 'use a file or synthetic data');
    const source = file === undefined ? undefined : await openSource(file, { batch: size, nulls });
    try {
      const shape = this.#shape(source);
      const encoder = await openEncoder(this.#device, this.#options(shape, source));
      try {
        yield* encoder.stream(source ? inBatches(source, size) : this.#synthetic(shape), { inFlight: prefetch });
      } finally {
        encoder.close();
      }
    } finally {
      await source?.close();
    }
  }

  #with(some: Partial<LoaderSettings>): Loader {
    return new Loader(this.#device, { ...this.#settings, ...some });
  }

  /** Checks that a file's samples have the length of the encoding. */
  #shape(source: Source | undefined): StateShape {
    const { encoding, qubits } = this.#settings;
    const length = lengthOf(encoding, qubits);
    if (source === undefined || source.length === length) return { encoding, qubits, length };
    throw new EncodeError('size', {
      message: `samples of the file have ${source.length} values, ${encoding} of ${qubits} qubits takes ${length}`,
      asked: `${this.#settings.file}`,
      advice: 'set the number of qubits, or use another file',
    });
  }

  #options(shape: StateShape, source: Source | undefined): EncoderOptions {
    const { size, order, precision } = this.#settings;
    return { ...shape, order, batch: size, precision: precision ?? source?.precision ?? 'f32' };
  }

  #synthetic(shape: StateShape): Iterable<Values> {
    const { seed, size, total } = this.#settings;
    return syntheticBatches(shape, { seed, batch: size, batches: total });
  }
}

export const loader = (device: Device): Loader => new Loader(device);

/** Splits batches of a source, which may yield more samples than requested if they are already in memory. */
async function* inBatches(source: Source, size: number): AsyncGenerator<Values> {
  const values = size * source.length;
  for await (const some of source.batches()) {
    for (let at = 0; at < some.length; at += values) {
      yield some.length <= values ? some : (some as Float64Array).subarray(at, at + values);
    }
  }
}

function positive(value: number, what: string): number {
  if (Number.isInteger(value) && value > 0) return value;
  throw settingError(`invalid number of ${what}: ${value}`, 'give a whole number from 1 on');
}

const settingError = (message: string, advice: string): EncodeError =>
  new EncodeError('source', { message, asked: 'batches of encoded states', advice });
