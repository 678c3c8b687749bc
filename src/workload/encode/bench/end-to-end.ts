import type { Run } from '../../../bench/measure.js';
import type { Device } from '../../../device/device.js';
import { fillSynthetic } from '../files/synthetic.js';
import { openEncoder } from '../job/encoder.js';
import type { EncodedStates } from '../job/states.js';
import { checkedStates, type EncodeRate, type RateOptions } from './rate.js';
import { oneAtATime } from './submit-methods.js';

/**
 * Measures a loop as users write it: makes a batch, normalises it, encodes it, reads the states and sums their magnitudes.
 * Most of the time is the loop's own.
 */
export async function endToEndRate(device: Device, options: RateOptions): Promise<EncodeRate> {
  const encoder = await openEncoder(device, options);
  const { shape, precision, path } = encoder.plan;
  const { batches, inFlight = 4, runs } = options;
  const made = (k: number): Float64Array => {
    const values = new Float64Array(encoder.batch * shape.length);
    fillSynthetic(shape, values, BigInt(k * encoder.batch));
    if (shape.encoding === 'amplitude') normalise(values, shape.length);
    return values;
  };
  const latencies: number[][] = [];
  const run = async (): Promise<Run> => {
    const [begun, own]: [number[], number[]] = [[], []];
    const produced = function* () {
      for (let k = 0; k < batches; k++) {
        begun.push(performance.now());
        yield made(k);
      }
    };
    const started = performance.now();
    let last: Float64Array | Float32Array = new Float64Array();
    let total = 0;
    for await (const states of encoder.stream(produced(), { inFlight })) {
      last = await states.read();
      total += magnitudes(last);
      states.release();
      own.push(performance.now() - (begun[own.length] ?? Number.NaN));
    }
    const seconds = (performance.now() - started) / 1000;
    latencies.push(own);
    if (!Number.isFinite(total)) throw new TypeError('the sum of magnitudes is not finite');
    const digest = checkedStates(device, shape, precision, made(batches - 1), last);
    return { seconds, work: batches * encoder.batch, digest };
  };
  return {
    name: `${shape.encoding} ${shape.qubits} × ${encoder.batch}, ${precision}, end to end`,
    unit: 'vec',
    path,
    ...(runs !== undefined && { runs }),
    run,
    close: () => encoder.close(),
    latencies: () => latencies.slice(1).flat(),
    measureAlone: oneAtATime(async (k): Promise<EncodedStates> => {
      const states = await encoder.encodeBatch(made(k));
      magnitudes(await states.read());
      return states;
    }),
  };
}

function normalise(values: Float64Array, length: number): void {
  for (let first = 0; first < values.length; first += length) {
    const row = values.subarray(first, first + length);
    const norm = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < length; i++) row[i] = (row[i] ?? 0) / norm;
  }
}

/** The sum of magnitudes: a small consumer. */
export function magnitudes(states: Float64Array | Float32Array): number {
  let sum = 0;
  for (let i = 0; i < states.length; i += 2) {
    const [re = 0, im = 0] = [states[i], states[i + 1]];
    sum += Math.fround(Math.sqrt(re * re + im * im));
  }
  return sum;
}
