import { MillraceError } from '../../kernel/error.js';
import { partitionPoint } from '../work/bisect.js';
import { endOf, type Piece, type Range } from '../work/space.js';

/**
 * What a search has found, and what of it may be told. The answer depends on the kernel and the space alone, not on which
 * device was first, on chunks or on time: hits are told in the order of their indices, each as soon as everything below
 * it is done. (`any` is the exception by its nature: which hit it is depends on who is first. `arrival` is for those who
 * cannot wait for the slowest device, a miner with a pool, say: all hits, each once, in any order.)
 */
export type Mode = 'first' | 'any' | 'all' | 'arrival';

/** A hit, or whatever else comes out of chunks: bytes that begin at an index. */
export interface Indexed {
  readonly index: bigint;
}

export interface Harvest<T extends Indexed> {
  readonly mode: Mode;
  /** Found, but something below is not done. Ascending; in mode `first` one at most. */
  readonly held: readonly T[];
  /** Nothing more will be told. */
  readonly isOver: boolean;
}

export const startHarvest = <T extends Indexed>(mode: Mode): Harvest<T> => ({ mode, held: [], isOver: false });

export interface Gathered<T extends Indexed> {
  readonly harvest: Harvest<T>;
  /** Indices from here on no longer matter (`limit` of coverage.ts). */
  readonly end: bigint | undefined;
}

/**
 * Hits of a chunk that counts. `fresh` is what of it had not been counted before: other hits are known already. Several
 * hits of one index stay in the order they are given in, so that must not depend on the device.
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

/** What may be told now. `frontier` is the smallest index that matters and is not done, undefined when all are. */
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
 * The most items of a chunk when one of `count` items had `found` hits, more than the `room` of its ring: half of what
 * would just fill it, were the hits spread evenly. Throws `buffer-range` when one item alone has too many.
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
 * The most items of a chunk so that its hits should fill no more than half of the ring; `perItem` is how many hits an
 * item has on average, undefined while there were none.
 */
export function sizeForRing(perItem: number | undefined, room: number): number {
  return perItem === undefined || perItem <= 0
    ? Number.POSITIVE_INFINITY
    : Math.max(1, Math.floor(room / (2 * perItem)));
}

const byIndex = (a: Indexed, b: Indexed): number => (a.index < b.index ? -1 : a.index > b.index ? 1 : 0);

/** Both are in order; most often all of `news` is above all of `held`. */
function merge<T extends Indexed>(held: readonly T[], news: readonly T[]): readonly T[] {
  const [first] = news;
  const last = held.at(-1);
  const all = [...held, ...news];
  return first === undefined || last === undefined || last.index <= first.index ? all : all.sort(byIndex);
}

/** How many of the ascending hits are below an index. */
export function countBelow(hits: readonly Indexed[], index: bigint): number {
  return partitionPoint(hits.length, (at) => (hits[at]?.index ?? index) < index);
}
