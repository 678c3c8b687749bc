import type { Average } from '../feed/throughput.js';

/**
 * Who does how much. Devices pull: each takes its next chunk when it has room, sized by its own speed, so that fast ones
 * take more and nothing has to be planned. Only the end needs care. Near it, sizes shrink so that all devices end
 * together; a device too slow to help rests; and when nothing is left to hand out, an idle device doubles the work of
 * one that would take much longer. The first result counts (coverage.ts sees to it that no index counts twice).
 */

/** A device and a job: what it has in flight, and how fast it is. */
export interface Load {
  readonly device: string;
  /** Items per millisecond; undefined until measured. */
  readonly perMs: number | undefined;
  /** Items in flight. */
  readonly items: number;
  /** Items of the smallest useful chunk. */
  readonly least: number;
}

/** Work that is queued beyond two chunks takes at most this long. */
const QUEUED_MS = 1000;

/** A job's chunks on a device. */
export interface Queued extends Pick<Load, 'perMs' | 'items'> {
  readonly chunks: number;
  /** One of its chunks has ended there. */
  readonly hasCompleted: boolean;
  /** Jobs that take turns on the device. */
  readonly jobs: number;
}

/**
 * True if a device has enough of a job: a chunk to run and one behind it, which are its first or together take a second.
 * More would make canaries, cancels and other devices wait. Jobs that take turns wait for each other as it is.
 */
export function isFed({ perMs, items, chunks, hasCompleted, jobs }: Queued): boolean {
  if (chunks < 2 || jobs > 1) return false;
  return perMs === undefined ? !hasCompleted : items / perMs >= QUEUED_MS;
}

/** A chunk at the end is at least this long: below it, what a launch costs is no longer small. */
const TAIL_MS = 1;

/** Of what is left, the share that devices of unknown speed may have in flight together. */
const UNMEASURED_SHARE = 1 / 4;

/**
 * Items of the next chunk of device `me`, at most `wanted`, while `waiting` items are left to hand out; 0 when it should
 * rest because the others are done sooner without it. `all` are the devices that work on the job, `me` included.
 */
export function tailSize(me: Load, all: readonly Load[], waiting: number, wanted: number): number {
  const items = all.reduce((sum, load) => sum + load.items, waiting);
  if (!isMeasured(me)) return unmeasuredSize(me, all.length, items, wanted);
  const known = all.filter(isMeasured);
  // A device of unknown speed is taken to be as fast as the others are on average.
  const perMs = (known.reduce((sum, load) => sum + load.perMs, 0) * all.length) / known.length;
  // What this device may still take so that all end at the same moment.
  const share = (me.perMs * items) / perMs - me.items;
  if (share >= 2 * wanted) return wanted;
  const floor = floorOf(me);
  // Half of it, so that there is something left to put right what the estimates got wrong.
  if (share >= floor / 2) return Math.min(wanted, Math.ceil(Math.max(share / 2, floor)));
  const endOf = (load: MeasuredLoad): number => (load.items + Math.min(floorOf(load), waiting)) / load.perMs;
  const soonest = Math.min(...known.map(endOf));
  return endOf(me) <= soonest ? Math.min(wanted, Math.ceil(floor)) : 0;
}

/**
 * Items of the next chunk of a device that has not been measured: its part of a share of all `items`. A first chunk that
 * suits the device may be all of a short job.
 */
function unmeasuredSize({ items: own, least }: Load, devices: number, items: number, wanted: number): number {
  if (devices < 2) return wanted;
  const share = (UNMEASURED_SHARE * items) / devices - own;
  if (own > 0 && share < least) return 0;
  return Math.min(wanted, Math.ceil(Math.max(share / 2, least)));
}

interface MeasuredLoad extends Load {
  readonly perMs: number;
}

const isMeasured = (load: Load): load is MeasuredLoad => load.perMs !== undefined && load.perMs > 0;
const floorOf = ({ perMs, least }: MeasuredLoad): number => Math.max(least, perMs * TAIL_MS);

/** What a device is working on. */
export interface Queue {
  /** In the order they were given to the device; `dueMs` is what each should take, undefined where that is unknown. */
  readonly chunks: readonly { readonly id: number; readonly dueMs: number | undefined }[];
  /** How long the first of them has held the device. */
  readonly heldMs: number;
}

/** How many times slower than usual a device is just now: a chunk that runs late says more than the ones before it. */
export function slowdownOf({ chunks, heldMs }: Queue): number {
  const dueMs = chunks[0]?.dueMs;
  return dueMs === undefined || dueMs <= 0 ? 1 : Math.max(1, heldMs / dueMs);
}

/** In how many milliseconds each chunk should end, as far as that is known. A late one is expected to be as late again. */
export function expectedEnds(queue: Queue): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const slowdown = slowdownOf(queue);
  let endMs: number | undefined;
  for (const { id, dueMs } of queue.chunks) {
    if (dueMs === undefined) break;
    endMs = endMs === undefined ? Math.abs(dueMs - queue.heldMs) : endMs + dueMs * slowdown;
    ends.set(id, endMs);
  }
  return ends;
}

export interface Victim {
  readonly id: number;
  /** Items of it that no other device has. */
  readonly count: number;
  readonly endMs: number;
}

/**
 * Which chunk an idle device should do once more: the one that would end last, provided it is then done in two thirds of
 * the time. `busyMs` is what the device still has to do before.
 */
export function chooseVictim(perMs: number, busyMs: number, victims: readonly Victim[]): Victim | undefined {
  return victims
    .filter(({ count, endMs }) => count > 0 && endMs > 1.5 * (busyMs + count / perMs) + TAIL_MS)
    .reduce<Victim | undefined>(
      (last, next) => (last === undefined || next.endMs > last.endMs ? next : last),
      undefined,
    );
}

const STALL_FACTOR = 8;
const STALL_LEAST_MS = 2000;
/** For a device's first chunk of a job, about which nothing is known. */
const STALL_UNKNOWN_MS = 60_000;

/**
 * How long a stream may be silent before its chunks go to other devices. `dueMs` is the expected time of everything that
 * is queued on the device, on all of its streams: a small chunk waits for the large ones beside it.
 */
export function stallLimit(dueMs: number | undefined): number {
  return dueMs === undefined ? STALL_UNKNOWN_MS : Math.max(STALL_FACTOR * dueMs, STALL_LEAST_MS);
}

/** The static partition: n div g each, the first also gets the rest. */
export function equalShares(total: bigint, devices: number): bigint[] {
  if (devices === 0) return [];
  const each = total / BigInt(devices);
  const rest = total % BigInt(devices);
  return Array.from({ length: devices }, (_, at) => (at === 0 ? each + rest : each));
}

/** Samples of every device before shares follow speed. */
export const LEAST_SAMPLES = 3;

/** Shares in proportion to speed, rounded, the last device takes the remainder; equal ones until all are known. */
export function proportionalShares(total: bigint, speeds: readonly Average[]): bigint[] {
  const values = speeds.map(({ value, samples }) => (samples >= LEAST_SAMPLES ? (value ?? 0) : Number.NaN));
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
