import type { Encoder } from '../job/encoder.js';
import type { EncodedStates } from '../job/states.js';

/** A way to submit requests to an encoder. Returns the milliseconds from each call to its states. */
export type SubmitMethod = (requests: number) => Promise<readonly number[]>;

/** The values of request `k`. */
export type RequestValues = (k: number) => Float64Array | Float32Array;

/** Makes each request when the states of the previous one are complete. */
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

/** Uses `Encoder.stream`, with `inFlight` requests in flight. `onLast` gets the last states before their release. */
export function streamed(
  encoder: Encoder,
  request: RequestValues,
  inFlight: number,
  onLast: (states: EncodedStates) => Promise<void> = async () => undefined,
): SubmitMethod {
  return async (requests) => {
    const begun: number[] = [];
    const timedRequests = function* () {
      for (let k = 0; k < requests; k++) {
        begun.push(performance.now());
        yield request(k);
      }
    };
    const latencies: number[] = [];
    for await (const states of encoder.stream(timedRequests(), { inFlight })) {
      latencies.push(performance.now() - (begun[latencies.length] ?? Number.NaN));
      if (latencies.length === requests) await onLast(states);
      states.release();
    }
    return latencies;
  };
}

/** Gathers requests into batches of up to `maxBytes` bytes. Calls `onBatches` with the number of batches. */
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
      done.catch(() => undefined); // thrown when it is awaited
      waiting.push(done);
      if (waiting.length >= window) await waiting.shift();
    }
    await gatherer.flush();
    await Promise.all(waiting);
    onBatches(batches.size);
    return latencies;
  };
}
