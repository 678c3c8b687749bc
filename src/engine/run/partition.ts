import type { Average } from '../feed/throughput.js';
import type { Intervals } from '../work/intervals.js';
import { between, MAX_INDICES, type Range } from '../work/space.js';
import { equalShares, MIN_SAMPLES, proportionalShares } from './balance.js';

/**
 * How the indices of a job are shared between its devices. `pull`: each device takes its next chunk when it has a free slot;
 * this needs no plan and suits almost every job. `equal`: each device has a contiguous part of equal size from the
 * beginning. `measured`: each device pulls until three chunks of every device were measured; then the rest is cut into
 * contiguous parts in proportion to speed.
 */
export type PartitionMode = 'pull' | 'equal' | 'measured';

/** A partition that a job asks for. */
export interface Partition {
  readonly by: Exclude<PartitionMode, 'pull'>;
  /**
   * True if a device that is done with its part helps the others. The part of a lost or stalled device is always done
   * by others.
   */
  readonly steal: boolean;
}

/** A device that works on the job. */
export interface MeasuredDevice {
  readonly throughput: { readonly perMs: Average };
}

/** Returns each device's part of `todo`. Undefined while too few speeds are known. */
export function partsOf<T extends MeasuredDevice>(
  by: Partition['by'],
  devices: readonly T[],
  todo: Intervals,
): ReadonlyMap<T, Range> | undefined {
  const speeds = devices.map(({ throughput }) => throughput.perMs);
  if (by === 'measured' && speeds.some(({ samples }) => samples < MIN_SAMPLES)) return undefined;
  const shares = by === 'equal' ? equalShares(todo.total, devices.length) : proportionalShares(todo.total, speeds);
  const parts = cut(todo, shares);
  return new Map(devices.map((device, at) => [device, parts[at] ?? between(MAX_INDICES, MAX_INDICES)]));
}

/**
 * Cuts the whole index space so that each part has its share of `todo`. Indices that are done, or in flight and may be
 * returned, also lie in some part.
 */
export function cut(todo: Intervals, shares: readonly bigint[]): Range[] {
  const waiting = [...todo];
  let start = 0n;
  return shares.map((share, at) => {
    if (at === shares.length - 1) return between(start, MAX_INDICES);
    let end = start;
    for (let left = share; left > 0n; ) {
      const [next] = waiting;
      if (next === undefined) break;
      const taken = next.length < left ? next.length : left;
      left -= taken;
      end = next.start + taken;
      if (taken === next.length) waiting.shift();
      else waiting[0] = between(end, next.start + next.length);
    }
    const part = between(start, end);
    start = end;
    return part;
  });
}
