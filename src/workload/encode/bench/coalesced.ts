import type { Device } from '../../../device/device.js';
import { type Encoder, openEncoder } from '../job/encoder.js';
import { realBytes } from '../kernel/encoding.js';
import { checkedStates, inputsOf, type RateOptions } from './rate.js';
import { gathered, oneAtATime, type RequestValues, type SubmitMethod, streamed } from './submit-methods.js';

/** One way to submit requests: vectors per second of each trial, and milliseconds of each request. */
export interface MethodFigures {
  readonly name: string;
  readonly trials: readonly number[];
  readonly latencies: readonly number[];
}

export interface CoalescedRates {
  readonly path: string;
  readonly coalesced: MethodFigures;
  /** The same requests submitted in other ways, in alternation. */
  readonly others: readonly MethodFigures[];
  /** Bytes of a request, and of the largest gathered batch. */
  readonly requestBytes: number;
  readonly gatheredBytes: number;
  /** Mean number of requests per batch. */
  readonly perBatch: number;
}

/** Largest input of a gathered batch. */
const MAX_GATHERED_BYTES = 8 * 2 ** 20;
/** Batches whose requests are in flight. */
const BATCHES_AHEAD = 4;

/**
 * Measures requests of `batch` samples: gathered, in a stream, and one at a time. The three alternate in one process; the
 * first run of each does not count.
 */
export async function coalescedRates(
  device: Device,
  from: 'pinned' | 'plain',
  options: RateOptions & { readonly trials: number },
): Promise<CoalescedRates> {
  const { batch = 64, batches: requests, trials, precision = 'f32', inFlight = 4 } = options;
  const closing: (() => void)[] = [];
  try {
    const gathering = await openGathering(device, options);
    closing.push(() => gathering.close());
    const single = await openEncoder(device, options);
    closing.push(() => single.close());
    const inputs = await inputsOf(single, from, batch);
    closing.push(() => inputs.free());
    const request: RequestValues = (k) => inputs.arrays[k % inputs.arrays.length] as Float64Array;
    const requestBytes = batch * single.plan.shape.length * realBytes(precision);
    const fitting = Math.max(1, Math.floor(MAX_GATHERED_BYTES / requestBytes));
    let batches = 0;
    const onBatches = (made: number): void => {
      batches += made;
    };
    const window = Math.max(inFlight, BATCHES_AHEAD * fitting);
    const coalesced = figuresOf('Coalesced');
    const stream = figuresOf('Stream');
    const perBatch = figuresOf('Per batch');
    const ways: readonly (readonly [Figures, SubmitMethod])[] = [
      [coalesced, gathered(gathering, request, { window, maxBytes: MAX_GATHERED_BYTES, onBatches })],
      [stream, streamed(single, request, inFlight)],
      [perBatch, oneAtATime((k) => single.encodeBatch(request(k)))],
    ];
    await check(gathering, request(0));
    for (let trial = 0; trial <= trials; trial++) {
      for (const [figures, way] of ways) {
        const begun = performance.now();
        const latencies = await way(requests);
        const seconds = (performance.now() - begun) / 1000;
        if (trial > 0) figures.add((requests * batch) / seconds, latencies);
      }
    }
    return {
      path: single.plan.path,
      coalesced,
      others: [stream, perBatch],
      requestBytes,
      gatheredBytes: MAX_GATHERED_BYTES,
      perBatch: ((trials + 1) * requests) / batches,
    };
  } finally {
    for (const close of closing.reverse()) close();
  }
}

interface Figures extends MethodFigures {
  add(perSecond: number, latencies: readonly number[]): void;
}

function figuresOf(name: string): Figures {
  const trials: number[] = [];
  const latencies: number[] = [];
  return {
    name,
    trials,
    latencies,
    add: (perSecond, some) => {
      trials.push(perSecond);
      for (const one of some) latencies.push(one);
    },
  };
}

/** Opens an encoder whose batches hold the gathered input, and at least one request. */
function openGathering(device: Device, options: RateOptions): Promise<Encoder> {
  const { batch = 64, precision = 'f32', qubits } = options;
  const gatheredSamples = Math.floor(MAX_GATHERED_BYTES / (2 ** qubits * realBytes(precision)));
  return openEncoder(device, { ...options, batch: Math.max(batch, gatheredSamples) });
}

/** Checks gathered and single states against the reference. */
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
