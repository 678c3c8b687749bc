import type { Encoder } from '../job/encoder.js';
import type { EncodedStates } from '../job/states.js';

/** A way of handing requests to an encoder. A run gives the time from each call to its states, in milliseconds. */
export type SubmitMethod = (requests: number) => Promise<readonly number[]>;

/** The values of request `k`. */
export type RequestValues = (k: number) => Float64Array | Float32Array;

/** The next request is made when the states of the one before are there. */
export function oneAtATime(encode: (k: number) => Promise<Pick<EncodedStates, 'release'>>): SubmitMethod {
  return async (requests) => {
    const latencies: number[] = [];
    for (let k = 0; k < requests; k++) {
      const begun = performance.now();
      const states = await encode(k);
      latencies.push(performance.now() - begun);
      states.release();
    }
    return latencies;
  };
}

/** `Encoder.stream`: some requests are in flight. `onLast` sees the last states before they are released. */
export function streamed(
  encoder: Encoder,
  request: RequestValues,
  inFlight: number,
  onLast: (states: EncodedStates) => Promise<void> = async () => undefined,
): SubmitMethod {
  return async (requests) => {
    const begun: number[] = [];
    const given = function* () {
      for (let k = 0; k < requests; k++) {
        begun.push(performance.now());
        yield request(k);
      }
    };
    const latencies: number[] = [];
    for await (const states of encoder.stream(given(), { inFlight })) {
      latencies.push(performance.now() - (begun[latencies.length] ?? Number.NaN));
      if (latencies.length === requests) await onLast(states);
      states.release();
    }
    return latencies;
  };
}

/** Gathers requests into batches of up to `bytes` bytes. `onBatches` is told how many batches were made. */
export function gathered(
  encoder: Encoder,
  request: RequestValues,
  { window, maxBytes, onBatches }: { window: number; maxBytes: number; onBatches(batches: number): void },
): SubmitMethod {
  return async (requests) => {
    const gatherer = encoder.gather({ maxBytes });
    const latencies: number[] = [];
    const batches = new Set<EncodedStates>();
    const waiting: Promise<void>[] = [];
    const submit = async (k: number): Promise<void> => {
      const begun = performance.now();
      const part = await gatherer.submit(request(k));
      latencies.push(performance.now() - begun);
      batches.add(part.states);
      part.release();
    };
    for (let k = 0; k < requests; k++) {
      const done = submit(k);
      done.catch(() => undefined); // thrown when it is waited for
      waiting.push(done);
      if (waiting.length >= window) await waiting.shift();
    }
    await gatherer.flush();
    await Promise.all(waiting);
    onBatches(batches.size);
    return latencies;
  };
}
