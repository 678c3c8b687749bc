import { type Span, union } from './overlap.js';
import type { SensorSample, TracedChunk, TraceEvent } from './trace.js';

type Counter = (name: string, ns: bigint, value: number) => TraceEvent;

/** Yields queue depth at each change, and fed % and rate over intervals of 10 ms to 1 s, about 200 per trace. */
export function* deviceCounters(chunks: readonly TracedChunk[], counter: Counter): Generator<TraceEvent> {
  yield* depths(chunks, counter);
  const ran = chunks.flatMap(({ record, times }) => (times.device ? [{ record, span: times.device }] : []));
  const busy = union(ran.map(({ span }) => span));
  const [first] = busy;
  const last = busy.at(-1);
  if (!first || !last) return;
  const fromNs = first.startedNs;
  const stepNs = clamp((last.endedNs - fromNs) / 200n, 10_000_000n, 1_000_000_000n);
  const steps = Number((last.endedNs - fromNs - 1n) / stepNs) + 1;
  const fed = spread(busy, () => 1, fromNs, stepNs, steps);
  const counted = ran.filter(({ record }) => record.counted > 0);
  const spans = counted.map(({ span }) => span);
  const perNs = (at: number): number => {
    const { record, span } = counted[at] ?? {};
    return record && span ? record.counted / Math.max(1, Number(span.endedNs - span.startedNs)) : 0;
  };
  const rates = spread(spans, perNs, fromNs, stepNs, steps);
  for (let step = 0; step < steps; step++) {
    const ns = fromNs + BigInt(step) * stepNs;
    // The last interval may be shorter than the others.
    const lengthNs = Number(minBigint(stepNs, last.endedNs - ns));
    yield counter('fed %', ns, (100 * (fed[step] ?? 0)) / lengthNs);
    yield counter('rate (items/s)', ns, (1e9 * (rates[step] ?? 0)) / lengthNs);
  }
  yield counter('fed %', last.endedNs, 0);
  yield counter('rate (items/s)', last.endedNs, 0);
}

export function* sensorCounters(samples: readonly SensorSample[], counter: Counter): Generator<TraceEvent> {
  for (const { atNs, temperatureC, powerW } of samples) {
    if (temperatureC !== undefined) yield counter('temperature (°C)', atNs, temperatureC);
    if (powerW !== undefined) yield counter('power (W)', atNs, powerW);
  }
}

/** Counts chunks that were taken and whose end was not yet noticed. */
function* depths(chunks: readonly TracedChunk[], counter: Counter): Generator<TraceEvent> {
  const changes = chunks.flatMap(({ record, times }) => {
    const { submit, device } = times;
    if (!submit || !device) return [];
    const end = record.noticedNs > device.endedNs ? record.noticedNs : device.endedNs;
    return [
      { ns: submit.startedNs, by: 1 },
      { ns: end, by: -1 },
    ];
  });
  let depth = 0;
  // Ends sort before starts at the same time: the two chunks were not both in the queue.
  for (const { ns, by } of changes.sort((a, b) => (a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : a.by - b.by))) {
    depth += by;
    yield counter('queue depth', ns, depth);
  }
}

/** Returns the weight of the spans in each step. Weights are per nanosecond. */
function spread(
  spans: readonly Span[],
  weight: (at: number) => number,
  fromNs: bigint,
  stepNs: bigint,
  steps: number,
): Float64Array {
  const sums = new Float64Array(steps);
  for (const [at, { startedNs, endedNs }] of spans.entries()) {
    const each = weight(at);
    for (let ns = startedNs; ns < endedNs; ) {
      const step = Number((ns - fromNs) / stepNs);
      const until = minBigint(endedNs, fromNs + BigInt(step + 1) * stepNs);
      sums[step] = (sums[step] ?? 0) + Number(until - ns) * each;
      ns = until;
    }
  }
  return sums;
}

const minBigint = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const clamp = (value: bigint, low: bigint, high: bigint): bigint => (value < low ? low : value > high ? high : value);
