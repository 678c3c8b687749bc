import { lengthOf, type StateShape } from '../kernel/encoding.js';

export interface SyntheticOptions {
  readonly seed?: bigint;
  /** Number of batches; unlimited by default. */
  readonly batches?: number;
  readonly batch?: number;
}

/** Yields batches of reproducible data: sample s begins s steps later than sample 0. */
export function* syntheticBatches(
  shape: StateShape,
  { seed = 0n, batches = Number.POSITIVE_INFINITY, batch = 64 }: SyntheticOptions = {},
): Generator<Float64Array> {
  for (let index = 0; index < batches; index++) {
    const values = new Float64Array(batch * shape.length);
    fillSynthetic(shape, values, seed + BigInt(index) * BigInt(batch));
    yield values;
  }
}

/** Fills in samples from number `first` on: ((i + s) mod L)/L, times 2π for angles; for basis s itself. */
export function fillSynthetic(
  { encoding, qubits, length }: StateShape,
  into: Float64Array | Float32Array,
  first: bigint,
): void {
  const samples = into.length / length;
  const period = encoding === 'basis' ? 2 ** qubits : encoding === 'amplitude' ? length : lengthOf(encoding, qubits);
  const step = encoding === 'basis' ? 1 : (encoding === 'amplitude' ? 1 : 2 * Math.PI) / length;
  let start = Number(first % BigInt(period));
  for (let sample = 0; sample < samples; sample++) {
    let value = start;
    for (let i = sample * length; i < (sample + 1) * length; i++) {
      into[i] = value * step;
      value = value + 1 === period ? 0 : value + 1;
    }
    start = start + 1 === period ? 0 : start + 1;
  }
}
