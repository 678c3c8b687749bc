import type { Intervals } from './intervals.js';
import { endOf, maxBigint, minBigint, type Range } from './space.js';

/** Returns the start of a bin: a space is divided into `bins` parts whose lengths differ by at most one. */
export const binStart = ({ start, length }: Range, bins: number, at: number): bigint =>
  start + (length * BigInt(at)) / BigInt(bins);

/** Returns the bin that contains an index of the space. */
export const binOf = ({ start, length }: Range, bins: number, index: bigint): number =>
  Number(((index - start + 1n) * BigInt(bins) - 1n) / length);

/** Returns how many indices of the ranges, which must not overlap, are in each bin of the space. Exact up to 2^128. */
export function binCounts(ranges: Iterable<Range>, space: Range, bins: number): bigint[] {
  const counts = Array<bigint>(bins).fill(0n);
  for (const range of ranges) {
    const from = maxBigint(range.start, space.start);
    const to = minBigint(endOf(range), endOf(space));
    if (from >= to) continue;
    const last = binOf(space, bins, to - 1n);
    for (let at = binOf(space, bins, from); at <= last; at++) {
      const low = maxBigint(from, binStart(space, bins, at));
      const high = minBigint(to, binStart(space, bins, at + 1));
      counts[at] = (counts[at] ?? 0n) + high - low;
    }
  }
  return counts;
}

/** Returns the number of bins for a space: a bin holds at least one index. */
export const binsFor = ({ length }: Range, wanted: number): number => Number(minBigint(BigInt(wanted), length));

/** Where the indices of a job are. Those in none of the sets wait. */
export interface WorkCoverage {
  readonly done: Intervals;
  /** Handed out to devices that have not ended them. */
  readonly onDevice: Intervals;
  /** Ended by a device: they count when a check has confirmed the result. Absent where results count at once. */
  readonly unconfirmed?: Intervals;
  /** Indices of chunks that were lost, late, wrong or too full, and had to be handed out again. */
  readonly redone: Intervals;
}
