import { MillraceError } from '../../kernel/error.js';
import { partitionPoint } from '../work/bisect.js';
import { endOf, type Piece, type Range } from '../work/space.js';

/**
 * How a search delivers hits. The answer depends only on the kernel and the space, not on devices, chunks or timing:
 * hits are delivered in ascending order of index, each as soon as everything below it is done. Two modes differ. `any`
 * delivers the first hit found, which depends on timing. `arrival` delivers every hit once, in any order, for callers
 * that cannot wait for the slowest device, for example a miner with a pool.
 */
export type SearchMode = 'first' | 'any' | 'all' | 'arrival';

/** A result of a chunk: a hit, or bytes that begin at an index. */
export interface Indexed {
  readonly index: bigint;
}

export interface ReorderBuffer<T extends Indexed> {
  readonly mode: SearchMode;
  /** Hits found while a lower index is not done. Ascending. At most one in mode `first`. */
  readonly pending: readonly T[];
  /** True if nothing more will be delivered. */
  readonly isOver: boolean;
}

export const startReorderBuffer = <T extends Indexed>(mode: SearchMode): ReorderBuffer<T> => ({
  mode,
  pending: [],
  isOver: false,
});

export interface AddResult<T extends Indexed> {
  readonly buffer: ReorderBuffer<T>;
  /** Indices from here on are no longer needed (`end` in coverage.ts). */
  readonly end: bigint | undefined;
}

/**
 * Adds the hits of a chunk that counts. `newRanges` are the parts of the chunk not counted before; hits outside it are
 * already known. Several hits of one index keep the order given, so that order must not depend on the device.
 */
export function addHits<T extends Indexed>(
  buffer: ReorderBuffer<T>,
  hits: readonly T[],
  newRanges: readonly Range[],
): AddResult<T> {
  if (buffer.isOver) return { buffer, end: undefined };
  const added = hits
    .filter(({ index }) => newRanges.some((range) => index >= range.start && index < endOf(range)))
    .sort(byIndex);
  if (added.length === 0) return { buffer, end: undefined };
  const all = merge(buffer.pending, added);
  const { mode, isOver } = buffer;
  if (mode !== 'first') return { buffer: { mode, pending: all, isOver }, end: undefined };
  const pending = all.slice(0, 1);
  return { buffer: { mode, pending, isOver }, end: pending[0]?.index };
}

export interface TakeResult<T extends Indexed> {
  readonly buffer: ReorderBuffer<T>;
  readonly hits: readonly T[];
}

/**
 * Returns the hits that may be delivered now. `frontier` is the smallest needed index that is not done. Undefined if
 * all are done.
 */
export function takeReady<T extends Indexed>(buffer: ReorderBuffer<T>, frontier: bigint | undefined): TakeResult<T> {
  const { mode, pending } = buffer;
  if (buffer.isOver) return { buffer, hits: [] };
  const isDone = frontier === undefined;
  if (mode === 'any' && pending.length > 0) {
    return { buffer: { mode, pending: [], isOver: true }, hits: pending.slice(0, 1) };
  }
  const readyCount = isDone || mode === 'arrival' ? pending.length : countBelow(pending, frontier);
  const isOver = isDone || (mode === 'first' && readyCount > 0);
  return { buffer: { mode, pending: pending.slice(readyCount), isOver }, hits: pending.slice(0, readyCount) };
}

/**
 * Returns the maximum items of a chunk after one of `count` items had `found` hits, more than its ring's `capacity`: half
 * of what would just fill the ring if hits were spread evenly. Throws `buffer-range` if one item alone has too many.
 */
export function sizeAfterOverflow({ start, count }: Piece, found: number, capacity: number): number {
  if (count > 1) return Math.max(1, Math.min(Math.floor(count / 2), Math.floor((count * capacity) / (2 * found))));
  throw new MillraceError({
    code: 'buffer-range',
    message: `index ${start} alone has ${found} hits, more than the ring holds`,
    asked: `a ring of ${capacity} hits`,
    advice: 'give the kernel a larger ring',
  });
}

/**
 * Returns the maximum items of a chunk so that its hits should fill at most half of the ring. `perItem` is the average
 * number of hits per item. Undefined while there were none.
 */
export function sizeForRing(perItem: number | undefined, capacity: number): number {
  return perItem === undefined || perItem <= 0
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor(capacity / (2 * perItem)));
}

const byIndex = (a: Indexed, b: Indexed): number => (a.index < b.index ? -1 : a.index > b.index ? 1 : 0);

/** Merges two ascending lists. Usually all of `added` is above all of `pending`. */
function merge<T extends Indexed>(pending: readonly T[], added: readonly T[]): readonly T[] {
  const [first] = added;
  const last = pending.at(-1);
  const all = [...pending, ...added];
  return first === undefined || last === undefined || last.index <= first.index ? all : all.sort(byIndex);
}

/** Returns how many of the ascending hits are below an index. */
export function countBelow(hits: readonly Indexed[], index: bigint): number {
  return partitionPoint(hits.length, (at) => (hits[at]?.index ?? index) < index);
}
