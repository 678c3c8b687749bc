import type { Device } from '../../device/device.js';
import { type Encoder, openEncoder } from './encoder.js';
import { realBytes } from './encoding.js';
import type { GatheredStates } from './gather.js';
import { checkedStates, inputsOf, type RateOptions } from './rate.js';

/** Vectors a second of each trial, both ways. */
export interface CoalescedRates {
  readonly path: string;
  readonly perBatch: readonly number[];
  readonly coalesced: readonly number[];
}

/** What is gathered before it is sent. */
const GATHERED_BYTES = 8 * 2 ** 20;
/** Such batches that requests may wait in. */
const AHEAD = 4;

/**
 * Requests of `batch` samples, one call and one wait each, against the same requests gathered: by turns, in one process,
 * after one of each that does not count.
 */
export async function coalescedRates(
  device: Device,
  from: 'pinned' | 'plain',
  options: RateOptions & { readonly trials: number },
): Promise<CoalescedRates> {
  const { batch = 64, batches, trials, precision = 'f32' } = options;
  const gathered = await openGathering(device, options);
  const inputs = await inputsOf(gathered, from, batch);
  const { shape, path } = gathered.plan;
  const request = (k: number): Float64Array | Float32Array => inputs.arrays[k % inputs.arrays.length] as Float64Array;
  const fitting = Math.max(1, Math.floor(GATHERED_BYTES / (batch * shape.length * realBytes(precision))));
  const rate = async (run: () => Promise<unknown>): Promise<number> => {
    const begun = performance.now();
    await run();
    return (batches * batch * 1000) / (performance.now() - begun);
  };
  const found = { path, perBatch: [] as number[], coalesced: [] as number[] };
  try {
    await check(gathered, request(0));
    for (let trial = 0; trial <= trials; trial++) {
      const alone = await rate(async () => {
        for (let k = 0; k < batches; k++) (await gathered.encodeBatch(request(k))).release();
      });
      const together = await rate(() => submitAll(gathered, batches, request, AHEAD * fitting));
      if (trial === 0) continue;
      found.perBatch.push(alone);
      found.coalesced.push(together);
    }
  } finally {
    gathered.close();
    inputs.free();
  }
  return found;
}

/** Its batches hold what is gathered, and at least one request. */
function openGathering(device: Device, options: RateOptions): Promise<Encoder> {
  const { batch = 64, precision = 'f32', qubits } = options;
  const most = Math.floor(GATHERED_BYTES / (2 ** qubits * realBytes(precision)));
  return openEncoder(device, { ...options, batch: Math.max(batch, most) });
}

async function submitAll(
  encoder: Encoder,
  requests: number,
  request: (k: number) => Float64Array | Float32Array,
  window: number,
): Promise<void> {
  const gatherer = encoder.gather({ bytes: GATHERED_BYTES });
  const waiting: Promise<GatheredStates>[] = [];
  const takeOne = async (): Promise<void> => (await waiting.shift())?.release();
  for (let k = 0; k < requests; k++) {
    const states = gatherer.submit(request(k));
    states.catch(() => undefined); // thrown when it is taken
    waiting.push(states);
    if (waiting.length >= window) await takeOne();
  }
  await gatherer.flush();
  while (waiting.length > 0) await takeOne();
}

/** Both ways give the states of the reference. */
async function check(encoder: Encoder, values: Float64Array | Float32Array): Promise<void> {
  const { shape, precision } = encoder.plan;
  const gatherer = encoder.gather();
  const parts = Promise.all([gatherer.submit(values), gatherer.submit(values)]);
  await Promise.all([parts, gatherer.flush()]);
  for (const part of await parts) {
    checkedStates(encoder.device, shape, precision, values, await part.read());
    part.release();
  }
  const states = await encoder.encodeBatch(values);
  checkedStates(encoder.device, shape, precision, values, await states.read());
  states.release();
}
