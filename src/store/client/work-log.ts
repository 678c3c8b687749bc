import { countBelow, type Indexed } from '../../engine/makers/reorder-buffer.js';
import { Intervals } from '../../engine/work/intervals.js';
import { type ChunkSource, MemorySource } from '../../engine/work/source.js';
import { between, endOf, type Piece, type Range, rangeOf } from '../../engine/work/space.js';

/** A job's log of work: what earlier runs did and found, and what this run adds. */
export interface WorkLog<T extends Indexed = Indexed> {
  readonly completed: Intervals;
  /** Ascending. */
  readonly storedHits: readonly T[];
  /**
   * Records a range and its hits; without a range, hits whose range may never be done. Hits are written at once, or
   * `soon`, within a second, as ranges without hits are. Undefined if the caller need not wait for the disk.
   */
  add(range: Range | undefined, hits: readonly T[], when?: 'at once' | 'soon'): Promise<void> | undefined;
}

/** Supplies a search with the work that is not done, and records its results. */
export class LedgerSource<T extends Indexed> implements ChunkSource<readonly T[]> {
  readonly completed: Intervals;
  readonly storedResults: readonly T[];
  readonly #log: WorkLog<T>;
  readonly #remaining: MemorySource;

  constructor(log: WorkLog<T>, space: Range) {
    this.#log = log;
    this.completed = log.completed;
    this.storedResults = log.storedHits;
    this.#remaining = new MemorySource(space, log.completed);
  }

  get isExhausted(): boolean {
    return this.#remaining.isExhausted;
  }

  take(): Range | undefined {
    return this.#remaining.take();
  }

  commit(piece: Piece, hits: readonly T[]): void | Promise<void> {
    return this.#log.add(rangeOf(piece), hits);
  }

  commitEarly(hits: readonly T[]): void | Promise<void> {
    return this.#log.add(undefined, hits);
  }

  giveBack(): void {}

  dropFrom(bound: bigint): void {
    this.#remaining.dropFrom(bound);
  }
}

/**
 * One of several searches of a job. It has its own indices, at an offset in the job's, and may have its own form of hits.
 */
export interface WorkLogPart<T extends Indexed, Own extends Indexed> {
  /** In the part's own indices. */
  readonly space: Range;
  /** The job's index of the part's index 0; may be negative. */
  readonly offset: bigint;
  /** Converts a hit to its stored form without the index; `fromStored` converts it back. */
  toStored(hit: Own): Omit<T, 'index'>;
  fromStored(kept: T, index: bigint): Own;
  /** Default: at once. */
  readonly when?: 'at once' | 'soon';
}

/** Returns a view of the log for one part. */
export function partOf<T extends Indexed, Own extends Indexed>(
  log: WorkLog<T>,
  part: WorkLogPart<T, Own>,
): WorkLog<Own> {
  const { space, offset } = part;
  const jobRange = between(space.start + offset, endOf(space) + offset);
  const toPartRange = ({ start, length }: Range): Range => ({ start: start - offset, length });
  return {
    completed: Intervals.of([...log.completed.within(jobRange)].map(toPartRange)),
    storedHits: hitsWithin(log.storedHits, jobRange).map((hit) => part.fromStored(hit, hit.index - offset)),
    add: (range, hits) =>
      log.add(
        range && { start: range.start + offset, length: range.length },
        hits.map((hit) => ({ ...part.toStored(hit), index: hit.index + offset }) as T),
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
