import { countBelow, type Indexed } from '../../engine/makers/harvest.js';
import { Intervals } from '../../engine/work/intervals.js';
import { type ChunkSource, MemorySource } from '../../engine/work/source.js';
import { between, endOf, type Piece, type Range, rangeOf } from '../../engine/work/space.js';

/** Where a job's work is written down: what is done and was found before, and what is done now. */
export interface Books<T extends Indexed = Indexed> {
  readonly completed: Intervals;
  /** Ascending. */
  readonly found: readonly T[];
  /**
   * Without a range: hits alone, whose range may never be done. Hits are written at once, or `soon`, within a second, as
   * ranges without hits are. Undefined where nobody has to wait for the disk.
   */
  add(range: Range | undefined, hits: readonly T[], when?: 'at once' | 'soon'): Promise<void> | undefined;
}

/** What a search takes from the books and brings to them. */
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

/** One of several searches of a job: its own indices stand elsewhere in the job's, and its hits may look otherwise. */
export interface Part<T extends Indexed, Own extends Indexed> {
  /** In its own indices. */
  readonly space: Range;
  /** The job's index of its index 0; may be below zero. */
  readonly offset: bigint;
  /** A hit as it is kept, all but its index; and the hit that was kept. */
  kept(hit: Own): Omit<T, 'index'>;
  told(kept: T, index: bigint): Own;
  /** Default: at once. */
  readonly when?: 'at once' | 'soon';
}

/** The pages of a job's books that are one part's. */
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

/** Of hits in ascending order, those in a range: blocks are thousands, and each asks for its own. */
export function hitsWithin<T extends Indexed>(hits: readonly T[], range: Range): readonly T[] {
  return hits.slice(countBelow(hits, range.start), countBelow(hits, endOf(range)));
}
