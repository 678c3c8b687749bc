import { countBelow, type Indexed } from '../../engine/makers/harvest.js';
import { Intervals } from '../../engine/work/intervals.js';
import { type ChunkSource, MemorySource } from '../../engine/work/source.js';
import { between, endOf, type Piece, type Range, rangeOf } from '../../engine/work/space.js';

/** A job's log of work: what earlier runs did and found, and what this run adds. */
export interface Books<T extends Indexed = Indexed> {
  readonly completed: Intervals;
  /** Ascending. */
  readonly found: readonly T[];
  /**
   * Records a range and its hits; without a range, hits whose range may never be done. Hits are written at once, or
   * `soon`, within a second, as ranges without hits are. Undefined if the caller need not wait for the disk.
   */
  add(range: Range | undefined, hits: readonly T[], when?: 'at once' | 'soon'): Promise<void> | undefined;
}

/** Supplies a search with the work that is not done, and records its results. */
export class BookSource<T extends Indexed> implements ChunkSource<readonly T[]> {
  readonly completed: Intervals;
  readonly found: readonly T[];
  readonly #books: Books<T>;
  readonly #todo: MemorySource;

  constructor(books: Books<T>, space: Range) {
    this.#books = books;
    this.completed = books.completed;
    this.found = books.found;
    this.#todo = new MemorySource(space, books.completed);
  }

  get isExhausted(): boolean {
    return this.#todo.isExhausted;
  }

  take(): Range | undefined {
    return this.#todo.take();
  }

  done(piece: Piece, hits: readonly T[]): void | Promise<void> {
    return this.#books.add(rangeOf(piece), hits);
  }

  keep(hits: readonly T[]): void | Promise<void> {
    return this.#books.add(undefined, hits);
  }

  giveBack(): void {}

  lower(bound: bigint): void {
    this.#todo.lower(bound);
  }
}

/**
 * One of several searches of a job. It has its own indices, at an offset in the job's, and may have its own form of hits.
 */
export interface Part<T extends Indexed, Own extends Indexed> {
  /** In the part's own indices. */
  readonly space: Range;
  /** The job's index of the part's index 0; may be negative. */
  readonly offset: bigint;
  /** Converts a hit to its stored form without the index; `told` converts it back. */
  kept(hit: Own): Omit<T, 'index'>;
  told(kept: T, index: bigint): Own;
  /** Default: at once. */
  readonly when?: 'at once' | 'soon';
}

/** Returns a view of the log for one part. */
export function partOf<T extends Indexed, Own extends Indexed>(books: Books<T>, part: Part<T, Own>): Books<Own> {
  const { space, offset } = part;
  const place = between(space.start + offset, endOf(space) + offset);
  const own = ({ start, length }: Range): Range => ({ start: start - offset, length });
  return {
    completed: Intervals.of([...books.completed.within(place)].map(own)),
    found: hitsWithin(books.found, place).map((hit) => part.told(hit, hit.index - offset)),
    add: (range, hits) =>
      books.add(
        range && { start: range.start + offset, length: range.length },
        hits.map((hit) => ({ ...part.kept(hit), index: hit.index + offset }) as T),
        part.when,
      ),
  };
}

/**
 * Returns the hits in a range from hits in ascending order. By binary search: there are thousands of blocks, and each
 * calls this.
 */
export function hitsWithin<T extends Indexed>(hits: readonly T[], range: Range): readonly T[] {
  return hits.slice(countBelow(hits, range.start), countBelow(hits, endOf(range)));
}
