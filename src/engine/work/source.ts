import { Intervals } from './intervals.js';
import { type Piece, type Range, spaceOf } from './space.js';

/**
 * Supplies a job's work and stores what is done. The engine asks for ranges, not chunks: it cuts them to each device's
 * speed, and work that a device returns goes to another device without a call to the source. So a ledger that survives
 * a crash, or a fleet that leases ranges, can implement the same few calls.
 */
export interface ChunkSource<Result = unknown> {
  /** Indices done before this run. They are never handed out. */
  readonly completed: Intervals;
  /** Results of `completed`, and those stored by `commitEarly`. Delivered again, in order with new results. */
  readonly storedResults?: Result;
  /** True if no more ranges will come, even after `giveBack`. */
  readonly isExhausted: boolean;
  /**
   * Returns a range that no other process has, of any length; `wanted` would suffice. Undefined if there is none now.
   */
  take(wanted: bigint): Range | undefined;
  /** Stores a piece that counts. Its results are delivered once this has resolved. Each index is in one call. */
  commit(piece: Piece, result: Result): void | Promise<void>;
  /**
   * Stores results that are delivered before their piece counts, or without it: the answer to `first` or `any`. They
   * are delivered once this has resolved.
   */
  commitEarly?(result: Result): void | Promise<void>;
  /** Returns a range that was taken and not done when the run ended. */
  giveBack(range: Range): void;
  /** Drops the indices from `bound` on: they are no longer needed. */
  dropFrom(bound: bigint): void;
  /**
   * Registers functions for sources whose work arrives later than it is asked for. `wake` makes the engine ask again.
   * `forget` lets it do a range again that it has done: call it before the range is taken a second time.
   */
  watch?(wake: () => void, forget: (range: Range) => void): void;
  /** Called once when the job has ended in any way, after `giveBack`. The iteration ends when this has resolved. */
  close?(): void | Promise<void>;
}

/** A source in memory: all work is known at the start, and nothing is stored. */
export class MemorySource<Result = unknown> implements ChunkSource<Result> {
  readonly completed: Intervals;
  readonly #ranges: Range[];

  constructor(space: Range, completed = Intervals.none) {
    this.completed = completed;
    this.#ranges = [...completed.missing(space)];
  }

  get isExhausted(): boolean {
    return this.#ranges.length === 0;
  }

  take(): Range | undefined {
    return this.#ranges.shift();
  }

  commit(): void {}

  giveBack(): void {}

  dropFrom(bound: bigint): void {
    while ((this.#ranges.at(-1)?.start ?? -1n) >= bound) this.#ranges.pop();
  }
}

/** Returns the range of a space given as a number of indices from 0, or as a range. */
export const toRange = (space: bigint | number | Range): Range =>
  typeof space === 'object' ? { ...space, length: spaceOf(space.length).length } : spaceOf(BigInt(space));
