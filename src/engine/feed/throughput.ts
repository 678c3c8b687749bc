import { partitionPoint } from '../work/bisect.js';
import { Intervals } from '../work/intervals.js';
import { between, greatest, type Range, shareOf } from '../work/space.js';

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
 * coarse, as in a browser, items and times are collected until they cover `LEAST_MS`.
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
const LEAST_MS = 0.5;

/**
 * Adds a completion. `ms` is the time the items held the device: since their start or since the previous completion,
 * whichever is later.
 */
export function measure(before: Throughput, items: number, ms: number): Throughput {
  if (!(items > 0) || !(ms >= 0)) return before;
  const { perMs, meanItems, meanMs } = before;
  const all = { items: before.items + items, ms: before.ms + ms };
  if (all.ms < LEAST_MS) return { perMs, meanItems, meanMs, items: all.items, ms: all.ms };
  const next = { meanItems: observe(meanItems, all.items), meanMs: observe(meanMs, all.ms) };
  const value = (next.meanItems.value ?? 0) / (next.meanMs.value ?? 1);
  return { perMs: { value, samples: perMs.samples + 1 }, ...next, items: 0, ms: 0 };
}

/** Counts indices over time. */
export interface Meter {
  /** Totals at moments, ascending; at least one. */
  readonly marks: readonly Mark[];
}

interface Mark {
  readonly atMs: number;
  readonly total: bigint;
}

export const WINDOWS_MS = { tenSeconds: 10_000, minute: 60_000, quarterHour: 900_000 } as const;
/** Marks are at least this far apart, so a quarter of an hour has at most 1,800. */
const MARK_MS = 500;

export const startMeter = (nowMs: number): Meter => ({ marks: [{ atMs: nowMs, total: 0n }] });

export function count({ marks }: Meter, nowMs: number, indices: bigint): Meter {
  const last = marks.at(-1) ?? { atMs: nowMs, total: 0n };
  const mark = { atMs: Math.max(nowMs, last.atMs), total: last.total + indices };
  // The last mark moves forward until it is far enough from the one before it.
  const before = marks.at(-2);
  const kept = before !== undefined && last.atMs - before.atMs < MARK_MS ? marks.slice(0, -1) : marks;
  // One mark older than the longest window is kept, because the window begins after it.
  const old = kept.findIndex(({ atMs }) => atMs >= mark.atMs - WINDOWS_MS.quarterHour);
  return { marks: [...kept.slice(Math.max(0, old - 1)), mark] };
}

/** Returns indices per second over the last `windowMs`. Undefined until the meter has run that long. */
export function rateOver({ marks }: Meter, nowMs: number, windowMs: number): number | undefined {
  const from = nowMs - windowMs;
  const [first] = marks;
  const last = marks.at(-1);
  if (first === undefined || last === undefined || first.atMs > from) return undefined;
  const at = lastAtOrBefore(marks, from);
  const low = marks[at] ?? first;
  const high = marks[at + 1];
  // Work is assumed to be even between two marks. After the last mark there was none.
  const part = high === undefined ? 0 : (from - low.atMs) / (high.atMs - low.atMs);
  const atFrom = Number((high ?? low).total - low.total) * part;
  return ((Number(last.total - low.total) - atFrom) * 1000) / windowMs;
}

/** Returns indices per second since the start. */
export function rateOverall({ marks }: Meter, startedMs: number, nowMs: number): number | undefined {
  const last = marks.at(-1);
  return last === undefined || nowMs <= startedMs ? undefined : (Number(last.total) * 1000) / (nowMs - startedMs);
}

/** The times when a device had work: the union of its chunks' times, reported in any order. */
export interface Busy {
  readonly startedNs: bigint;
  /** Before `settledNs` only the sums are kept. */
  readonly settledNs: bigint;
  readonly settledBusyNs: bigint;
  readonly settledExcusedNs: bigint;
  readonly recent: Intervals;
  /** Pauses: times when the device was not meant to have work. */
  readonly excused: Intervals;
}

/** Reports older than this may be missed. Longer than any window. */
const KEEP_NS = 1_000_000_000_000n;

export const startBusy = (nowNs: bigint): Busy => ({
  startedNs: nowNs,
  settledNs: nowNs,
  settledBusyNs: 0n,
  settledExcusedNs: 0n,
  recent: Intervals.none,
  excused: Intervals.none,
});

export function busyFrom(busy: Busy, startedNs: bigint, endedNs: bigint): Busy {
  const recent = busy.recent.add(between(greatest(startedNs, busy.settledNs), endedNs));
  const { startedNs: since, settledNs, settledBusyNs, settledExcusedNs, excused } = busy;
  return settled({ startedNs: since, settledNs, settledBusyNs, settledExcusedNs, recent, excused }, endedNs);
}

/** Records a pause. Idle time in a pause does not lower the share. */
export function excuse(busy: Busy, fromNs: bigint, toNs: bigint): Busy {
  const from = greatest(fromNs, busy.settledNs);
  return toNs <= from ? busy : settled({ ...busy, excused: busy.excused.add(between(from, toNs)) }, toNs);
}

function settled(busy: Busy, nowNs: bigint): Busy {
  const settledNs = greatest(busy.settledNs, nowNs - KEEP_NS);
  if (settledNs < busy.settledNs + KEEP_NS / 10n) return busy;
  const past = between(busy.settledNs, settledNs);
  const { busyNs, excusedNs } = timesIn(busy, past);
  return {
    ...busy,
    settledNs,
    settledBusyNs: busy.settledBusyNs + busyNs,
    settledExcusedNs: busy.settledExcusedNs + excusedNs,
    recent: busy.recent.remove(past),
    excused: busy.excused.remove(past),
  };
}

/**
 * Returns the share of the time the device had work, 0 to 1, since the start or over the last `windowNs`. Time in which
 * the device was not meant to have work is left out.
 */
export function fedShare(busy: Busy, nowNs: bigint, windowNs?: bigint): number | undefined {
  if (windowNs === undefined) {
    const { busyNs, excusedNs } = timesIn(busy, between(busy.settledNs, nowNs));
    const span = nowNs - busy.startedNs - busy.settledExcusedNs - excusedNs;
    return span <= 0n ? undefined : shareOf(busy.settledBusyNs + busyNs, span);
  }
  const from = nowNs - windowNs;
  if (from < busy.startedNs || from < busy.settledNs) return undefined;
  const { busyNs, excusedNs } = timesIn(busy, between(from, nowNs));
  return windowNs <= excusedNs ? undefined : shareOf(busyNs, windowNs - excusedNs);
}

/** Chunks in flight when a pause began still count as work. Only the idle part of the pause is excused. */
function timesIn({ recent, excused }: Busy, range: Range): { readonly busyNs: bigint; readonly excusedNs: bigint } {
  const busyNs = recent.within(range).total;
  const pauses = excused.within(range);
  if (pauses.isEmpty) return { busyNs, excusedNs: 0n };
  const idleNs = [...recent.missing(range)].reduce((sum, idle) => sum + pauses.within(idle).total, 0n);
  return { busyNs, excusedNs: idleNs };
}

function lastAtOrBefore(marks: readonly Mark[], atMs: number): number {
  return Math.max(0, partitionPoint(marks.length, (at) => (marks[at]?.atMs ?? 0) <= atMs) - 1);
}
