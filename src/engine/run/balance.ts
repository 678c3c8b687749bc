import type { Average } from '../feed/throughput.js';

/**
 * Balances work between devices. Devices pull: each takes its next chunk when it has a free slot, sized by its speed, so
 * that fast devices take more without a plan. Only the end needs care. Near it, sizes shrink so that all devices end
 * together. A device too slow to help rests. When no work is left to hand out, an idle device duplicates a chunk of one
 * that would take much longer. The first result counts (coverage.ts ensures that no index counts twice).
 */

/** A device's load of one job: the items in flight, and its speed. */
export interface DeviceLoad {
  readonly device: string;
  /** Items per millisecond; undefined until measured. */
  readonly perMs: number | undefined;
  /** Items in flight. */
  readonly items: number;
  /** Items of the smallest useful chunk. */
  readonly minItems: number;
}

/** Maximum time of the work queued beyond two chunks. */
const MAX_QUEUED_MS = 1000;

/** A job's chunks on a device. */
export interface QueuedWork extends Pick<DeviceLoad, 'perMs' | 'items'> {
  readonly chunks: number;
  /** True if a chunk of the job has ended on the device. */
  readonly hasCompleted: boolean;
  /** Jobs that take turns on the device. */
  readonly jobs: number;
}

/**
 * True if a device has enough work of a job: one chunk to run and one behind it, which are its first or together take a
 * second. More would delay canaries, cancels and other devices. Does not apply if several jobs take turns: they delay
 * each other anyway.
 */
export function hasEnoughWork({ perMs, items, chunks, hasCompleted, jobs }: QueuedWork): boolean {
  if (chunks < 2 || jobs > 1) return false;
  return perMs === undefined ? !hasCompleted : items / perMs >= MAX_QUEUED_MS;
}

/** Minimum time of a chunk near the end. Below it, the cost of a launch is no longer negligible. */
const MIN_TAIL_MS = 1;

/** Share of the remaining work that devices of unknown speed may have in flight together. */
const UNMEASURED_SHARE = 1 / 4;

/**
 * Returns the items of the next chunk of device `me`, at most `wanted`, while `waiting` items are left to hand out.
 * Returns 0 if the device should rest because the others finish sooner without it. `all` are the devices on the job,
 * including `me`.
 */
export function tailSize(me: DeviceLoad, all: readonly DeviceLoad[], waiting: number, wanted: number): number {
  const items = all.reduce((sum, load) => sum + load.items, waiting);
  if (!isMeasured(me)) return unmeasuredSize(me, all.length, items, wanted);
  const known = all.filter(isMeasured);
  // A device of unknown speed is assumed to have the average speed of the others.
  const perMs = (known.reduce((sum, load) => sum + load.perMs, 0) * all.length) / known.length;
  // What this device may still take so that all devices end at the same time.
  const share = (me.perMs * items) / perMs - me.items;
  if (share >= 2 * wanted) return wanted;
  const floor = floorOf(me);
  // Half of it, so that work is left to correct errors of the estimates.
  if (share >= floor / 2) return Math.min(wanted, Math.ceil(Math.max(share / 2, floor)));
  const endOf = (load: MeasuredLoad): number => (load.items + Math.min(floorOf(load), waiting)) / load.perMs;
  const soonest = Math.min(...known.map(endOf));
  return endOf(me) <= soonest ? Math.min(wanted, Math.ceil(floor)) : 0;
}

/**
 * Returns the items of the next chunk of a device that has not been measured: its part of a share of all `items`. A
 * first chunk of the usual size could be the whole of a short job.
 */
function unmeasuredSize({ items: own, minItems }: DeviceLoad, devices: number, items: number, wanted: number): number {
  if (devices < 2) return wanted;
  const share = (UNMEASURED_SHARE * items) / devices - own;
  if (own > 0 && share < minItems) return 0;
  return Math.min(wanted, Math.ceil(Math.max(share / 2, minItems)));
}

interface MeasuredLoad extends DeviceLoad {
  readonly perMs: number;
}

const isMeasured = (load: DeviceLoad): load is MeasuredLoad => load.perMs !== undefined && load.perMs > 0;
const floorOf = ({ perMs, minItems }: MeasuredLoad): number => Math.max(minItems, perMs * MIN_TAIL_MS);

/** The chunks queued on a device. */
export interface ChunkQueue {
  /** In the order of submission. `dueMs` is the expected time of each. Undefined if unknown. */
  readonly chunks: readonly { readonly id: number; readonly dueMs: number | undefined }[];
  /** How long the first chunk has held the device. */
  readonly runningMs: number;
}

/** Returns how many times slower than usual a device is now. A late chunk says more than the ones before it. */
export function slowdownOf({ chunks, runningMs }: ChunkQueue): number {
  const dueMs = chunks[0]?.dueMs;
  return dueMs === undefined || dueMs <= 0 ? 1 : Math.max(1, runningMs / dueMs);
}

/**
 * Returns the milliseconds until each chunk should end, as far as known. A late chunk is expected to take as long again
 * as it is late.
 */
export function expectedEnds(queue: ChunkQueue): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const slowdown = slowdownOf(queue);
  let endMs: number | undefined;
  for (const { id, dueMs } of queue.chunks) {
    if (dueMs === undefined) break;
    endMs = endMs === undefined ? Math.abs(dueMs - queue.runningMs) : endMs + dueMs * slowdown;
    ends.set(id, endMs);
  }
  return ends;
}

export interface Victim {
  readonly id: number;
  /** Items of the chunk that no other device has. */
  readonly count: number;
  readonly endMs: number;
}

/**
 * Returns the chunk that an idle device should duplicate: the one that would end last, if the duplicate ends in two
 * thirds of that time. `busyMs` is the time until the device is free.
 */
export function chooseVictim(perMs: number, busyMs: number, victims: readonly Victim[]): Victim | undefined {
  return victims
    .filter(({ count, endMs }) => count > 0 && endMs > 1.5 * (busyMs + count / perMs) + MIN_TAIL_MS)
    .reduce<Victim | undefined>(
      (last, next) => (last === undefined || next.endMs > last.endMs ? next : last),
      undefined,
    );
}

const STALL_FACTOR = 8;
const MIN_STALL_MS = 2000;
/** Limit for a device's first chunk of a job, whose speed is unknown. */
const STALL_UNKNOWN_MS = 60_000;

/**
 * Returns how long a stream may be silent before its chunks go to other devices. `dueMs` is the expected time of all
 * work queued on the device, on all streams: a small chunk waits for the large ones on other streams.
 */
export function stallLimit(dueMs: number | undefined): number {
  return dueMs === undefined ? STALL_UNKNOWN_MS : Math.max(STALL_FACTOR * dueMs, MIN_STALL_MS);
}

/** Returns the static partition: n div g each, and the remainder to the first. */
export function equalShares(total: bigint, devices: number): bigint[] {
  if (devices === 0) return [];
  const each = total / BigInt(devices);
  const rest = total % BigInt(devices);
  return Array.from({ length: devices }, (_, at) => (at === 0 ? each + rest : each));
}

/** Samples needed of every device before shares follow speed. */
export const MIN_SAMPLES = 3;

/**
 * Returns shares in proportion to speed, rounded; the last device takes the remainder. Equal shares until all speeds
 * are known.
 */
export function proportionalShares(total: bigint, speeds: readonly Average[]): bigint[] {
  const values = speeds.map(({ value, samples }) => (samples >= MIN_SAMPLES ? (value ?? 0) : Number.NaN));
  const sum = values.reduce((all, value) => all + value, 0);
  if (!(sum > 0 && sum < Number.POSITIVE_INFINITY)) return equalShares(total, speeds.length);
  let left = total;
  return values.map((value, at) => {
    const parts = BigInt(Math.round((value / sum) * 2 ** 53));
    const wanted = (total * parts + (1n << 52n)) >> 53n;
    const share = at === values.length - 1 || wanted > left ? left : wanted;
    left -= share;
    return share;
  });
}
