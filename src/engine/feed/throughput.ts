import { partitionPoint } from '../work/bisect.js';
import { Intervals } from '../work/intervals.js';
import { between, maxBigint, type Range, shareOf } from '../work/space.js';

/**
 * Throughput and utilization. An unknown figure is undefined, never 0, NaN or infinite. Times are milliseconds of one
 * monotonic clock, or nanoseconds if they come from a device.
 */

/** An exponential average: the first sample as it is, then each new sample with weight 0.2. */
export interface Average {
  readonly value: number | undefined;
  readonly samples: number;
}

export const NO_AVERAGE: Average = { value: undefined, samples: 0 };
const WEIGHT = 0.2;

/** Adds a sample. A sample that is not finite (0 items in 0 ms) is ignored. */
export function observe({ value, samples }: Average, sample: number, weight = WEIGHT): Average {
  if (!Number.isFinite(sample)) return { value, samples };
  return { value: value === undefined ? sample : value + weight * (sample - value), samples: samples + 1 };
}

/**
 * Items per millisecond, averaged over completions: the average of items divided by the average of times, so that a
 * sample's weight is the time it covers. Chunks of two streams run at the same time and end shortly after each other:
 * the second seems to have taken no time, and as a separate rate it would outweigh a hundred others. If the clock is
 * coarse, as in a browser, items and times are collected until they cover `MIN_SAMPLE_MS`.
 */
export interface Throughput {
  readonly perMs: Average;
  /** Average items of a sample. */
  readonly meanItems: Average;
  readonly meanMs: Average;
  /** Collected for the next sample. */
  readonly items: number;
  readonly ms: number;
}

export const NO_THROUGHPUT: Throughput = {
  perMs: NO_AVERAGE,
  meanItems: NO_AVERAGE,
  meanMs: NO_AVERAGE,
  items: 0,
  ms: 0,
};
const MIN_SAMPLE_MS = 0.5;

/**
 * Adds a completion. `ms` is the time the items held the device: since their start or since the previous completion,
 * whichever is later.
 */
export function measure(before: Throughput, items: number, ms: number): Throughput {
  if (!(items > 0) || !(ms >= 0)) return before;
  const { perMs, meanItems, meanMs } = before;
  const all = { items: before.items + items, ms: before.ms + ms };
  if (all.ms < MIN_SAMPLE_MS) return { perMs, meanItems, meanMs, items: all.items, ms: all.ms };
  const next = { meanItems: observe(meanItems, all.items), meanMs: observe(meanMs, all.ms) };
  const value = (next.meanItems.value ?? 0) / (next.meanMs.value ?? 1);
  return { perMs: { value, samples: perMs.samples + 1 }, ...next, items: 0, ms: 0 };
}

/** Counts indices over time. */
export interface RateMeter {
  /** Totals at moments, ascending; at least one. */
  readonly samples: readonly RateSample[];
}

interface RateSample {
  readonly atMs: number;
  readonly total: bigint;
}

export const WINDOWS_MS = { tenSeconds: 10_000, minute: 60_000, quarterHour: 900_000 } as const;
/** Samples are at least this far apart, so a quarter of an hour has at most 1,800. */
const SAMPLE_INTERVAL_MS = 500;

export const startRateMeter = (nowMs: number): RateMeter => ({ samples: [{ atMs: nowMs, total: 0n }] });

export function countIndices({ samples }: RateMeter, nowMs: number, indices: bigint): RateMeter {
  const last = samples.at(-1) ?? { atMs: nowMs, total: 0n };
  const sample = { atMs: Math.max(nowMs, last.atMs), total: last.total + indices };
  // The last sample moves forward until it is far enough from the one before it.
  const before = samples.at(-2);
  const kept = before !== undefined && last.atMs - before.atMs < SAMPLE_INTERVAL_MS ? samples.slice(0, -1) : samples;
  // One sample older than the longest window is kept, because the window begins after it.
  const old = kept.findIndex(({ atMs }) => atMs >= sample.atMs - WINDOWS_MS.quarterHour);
  return { samples: [...kept.slice(Math.max(0, old - 1)), sample] };
}

/** Returns indices per second over the last `windowMs`. Undefined until the meter has run that long. */
export function rateOver({ samples }: RateMeter, nowMs: number, windowMs: number): number | undefined {
  const from = nowMs - windowMs;
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || first.atMs > from) return undefined;
  const at = lastAtOrBefore(samples, from);
  const low = samples[at] ?? first;
  const high = samples[at + 1];
  // Work is assumed to be even between two samples. After the last sample there was none.
  const part = high === undefined ? 0 : (from - low.atMs) / (high.atMs - low.atMs);
  const atFrom = Number((high ?? low).total - low.total) * part;
  return ((Number(last.total - low.total) - atFrom) * 1000) / windowMs;
}

/** Returns indices per second since the start. */
export function rateOverall({ samples }: RateMeter, startedMs: number, nowMs: number): number | undefined {
  const last = samples.at(-1);
  return last === undefined || nowMs <= startedMs ? undefined : (Number(last.total) * 1000) / (nowMs - startedMs);
}

/** The times when a device had work: the union of its chunks' times, reported in any order. */
export interface BusyTime {
  readonly startedNs: bigint;
  /** Before `settledNs` only the sums are kept. */
  readonly settledNs: bigint;
  readonly settledBusyNs: bigint;
  readonly settledPausedNs: bigint;
  readonly recent: Intervals;
  /** Pauses: times when the device was not meant to have work. */
  readonly pauses: Intervals;
}

/** Reports older than this may be missed. Longer than any window. */
const KEEP_NS = 1_000_000_000_000n;

export const startBusyTime = (nowNs: bigint): BusyTime => ({
  startedNs: nowNs,
  settledNs: nowNs,
  settledBusyNs: 0n,
  settledPausedNs: 0n,
  recent: Intervals.none,
  pauses: Intervals.none,
});

export function addBusy(busy: BusyTime, startedNs: bigint, endedNs: bigint): BusyTime {
  const recent = busy.recent.add(between(maxBigint(startedNs, busy.settledNs), endedNs));
  const { startedNs: since, settledNs, settledBusyNs, settledPausedNs, pauses } = busy;
  return settleOld({ startedNs: since, settledNs, settledBusyNs, settledPausedNs, recent, pauses }, endedNs);
}

/** Records a pause. Idle time in a pause does not lower the share. */
export function addPause(busy: BusyTime, fromNs: bigint, toNs: bigint): BusyTime {
  const from = maxBigint(fromNs, busy.settledNs);
  return toNs <= from ? busy : settleOld({ ...busy, pauses: busy.pauses.add(between(from, toNs)) }, toNs);
}

function settleOld(busy: BusyTime, nowNs: bigint): BusyTime {
  const settledNs = maxBigint(busy.settledNs, nowNs - KEEP_NS);
  if (settledNs < busy.settledNs + KEEP_NS / 10n) return busy;
  const past = between(busy.settledNs, settledNs);
  const { busyNs, pausedNs } = timesIn(busy, past);
  return {
    ...busy,
    settledNs,
    settledBusyNs: busy.settledBusyNs + busyNs,
    settledPausedNs: busy.settledPausedNs + pausedNs,
    recent: busy.recent.remove(past),
    pauses: busy.pauses.remove(past),
  };
}

/**
 * Returns the share of the time the device had work, 0 to 1, since the start or over the last `windowNs`. Time in which
 * the device was not meant to have work is left out.
 */
export function busyShare(busy: BusyTime, nowNs: bigint, windowNs?: bigint): number | undefined {
  if (windowNs === undefined) {
    const { busyNs, pausedNs } = timesIn(busy, between(busy.settledNs, nowNs));
    const span = nowNs - busy.startedNs - busy.settledPausedNs - pausedNs;
    return span <= 0n ? undefined : shareOf(busy.settledBusyNs + busyNs, span);
  }
  const from = nowNs - windowNs;
  if (from < busy.startedNs || from < busy.settledNs) return undefined;
  const { busyNs, pausedNs } = timesIn(busy, between(from, nowNs));
  return windowNs <= pausedNs ? undefined : shareOf(busyNs, windowNs - pausedNs);
}

/** Chunks in flight when a pause began still count as work. Only the idle part of the pause is excused. */
function timesIn({ recent, pauses }: BusyTime, range: Range): { readonly busyNs: bigint; readonly pausedNs: bigint } {
  const busyNs = recent.within(range).total;
  const pausesInRange = pauses.within(range);
  if (pausesInRange.isEmpty) return { busyNs, pausedNs: 0n };
  const idleNs = [...recent.missing(range)].reduce((sum, idle) => sum + pausesInRange.within(idle).total, 0n);
  return { busyNs, pausedNs: idleNs };
}

function lastAtOrBefore(samples: readonly RateSample[], atMs: number): number {
  return Math.max(0, partitionPoint(samples.length, (at) => (samples[at]?.atMs ?? 0) <= atMs) - 1);
}
