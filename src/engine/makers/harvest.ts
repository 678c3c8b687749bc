import { MillraceError } from '../../kernel/error.js';
import { partitionPoint } from '../work/bisect.js';
import { endOf, type Piece, type Range } from '../work/space.js';

/**
 * How a search delivers hits. The answer depends only on the kernel and the space, not on devices, chunks or timing:
 * hits are delivered in ascending order of index, each as soon as everything below it is done. Two modes differ. `any`
 * delivers the first hit found, which depends on timing. `arrival` delivers every hit once, in any order, for callers
 * that cannot wait for the slowest device, for example a miner with a pool.
 */
export type Mode = 'first' | 'any' | 'all' | 'arrival';

/** A result of a chunk: a hit, or bytes that begin at an index. */
export interface Indexed {
  readonly index: bigint;
}

export interface Harvest<T extends Indexed> {
  readonly mode: Mode;
  /** Found, but a lower index is not done. Ascending. At most one in mode `first`. */
  readonly held: readonly T[];
  /** True if nothing more will be delivered. */
  readonly isOver: boolean;
}

export const startHarvest = <T extends Indexed>(mode: Mode): Harvest<T> => ({ mode, held: [], isOver: false });

export interface Gathered<T extends Indexed> {
  readonly harvest: Harvest<T>;
  /** Indices from here on are no longer needed (`limit` in coverage.ts). */
  readonly end: bigint | undefined;
}

/**
 * Adds the hits of a chunk that counts. `fresh` is the part of the chunk not counted before; hits outside it are
 * already known. Several hits of one index keep the order given, so that order must not depend on the device.
 */
export function gather<T extends Indexed>(
  harvest: Harvest<T>,
  hits: readonly T[],
  fresh: readonly Range[],
): Gathered<T> {
  if (harvest.isOver) return { harvest, end: undefined };
  const news = hits
    .filter(({ index }) => fresh.some((range) => index >= range.start && index < endOf(range)))
    .sort(byIndex);
  if (news.length === 0) return { harvest, end: undefined };
  const all = merge(harvest.held, news);
  const { mode, isOver } = harvest;
  if (mode !== 'first') return { harvest: { mode, held: all, isOver }, end: undefined };
  const held = all.slice(0, 1);
  return { harvest: { mode, held, isOver }, end: held[0]?.index };
}

export interface Delivered<T extends Indexed> {
  readonly harvest: Harvest<T>;
  readonly hits: readonly T[];
}

/**
 * Returns the hits that may be delivered now. `frontier` is the smallest needed index that is not done. Undefined if
 * all are done.
 */
export function deliver<T extends Indexed>(harvest: Harvest<T>, frontier: bigint | undefined): Delivered<T> {
  const { mode, held } = harvest;
  if (harvest.isOver) return { harvest, hits: [] };
  const isDone = frontier === undefined;
  if (mode === 'any' && held.length > 0) {
    return { harvest: { mode, held: [], isOver: true }, hits: held.slice(0, 1) };
  }
  const told = isDone || mode === 'arrival' ? held.length : countBelow(held, frontier);
  const isOver = isDone || (mode === 'first' && told > 0);
  return { harvest: { mode, held: held.slice(told), isOver }, hits: held.slice(0, told) };
}

/**
 * Returns the maximum items of a chunk after one of `count` items had `found` hits, more than its ring's `room`: half
 * of what would just fill the ring if hits were spread evenly. Throws `buffer-range` if one item alone has too many.
 */
export function sizeAfterOverflow({ start, count }: Piece, found: number, room: number): number {
  if (count > 1) return Math.max(1, Math.min(Math.floor(count / 2), Math.floor((count * room) / (2 * found))));
  throw new MillraceError({
    code: 'buffer-range',
    message: `index ${start} alone has ${found} hits, more than the ring holds`,
    asked: `a ring of ${room} hits`,
    advice: 'give the kernel a larger ring',
  });
}

/**
 * Returns the maximum items of a chunk so that its hits should fill at most half of the ring. `perItem` is the average
 * number of hits per item. Undefined while there were none.
 */
export function sizeForRing(perItem: number | undefined, room: number): number {
  return perItem === undefined || perItem <= 0
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor(room / (2 * perItem)));
}

const byIndex = (a: Indexed, b: Indexed): number => (a.index < b.index ? -1 : a.index > b.index ? 1 : 0);

/** Merges two ascending lists. Usually all of `news` is above all of `held`. */
function merge<T extends Indexed>(held: readonly T[], news: readonly T[]): readonly T[] {
  const [first] = news;
  const last = held.at(-1);
  const all = [...held, ...news];
  return first === undefined || last === undefined || last.index <= first.index ? all : all.sort(byIndex);
}

/** Returns how many of the ascending hits are below an index. */
export function countBelow(hits: readonly Indexed[], index: bigint): number {
  return partitionPoint(hits.length, (at) => (hits[at]?.index ?? index) < index);
}
