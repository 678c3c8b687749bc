import { Intervals } from './intervals.js';
import { type Piece, type Range, spaceOf } from './space.js';

/**
 * Where a job's work comes from, and where it is written down when it is done. The engine asks for ranges, not for
 * chunks: it cuts them itself, to each device's measure, and what a device gives back goes to another without a word to
 * the source. So a ledger that survives a crash, or a fleet that leases ranges, stands behind the same few calls.
 */
export interface ChunkSource<Result = unknown> {
  /** Done before this run: never handed out, and in order with what is done now. */
  readonly completed: Intervals;
  /** What came out of `completed`, and what was kept: told again, in order with what is found now. */
  readonly found?: Result;
  /** No more will come, whatever is given back. */
  readonly isExhausted: boolean;
  /** Indices that nobody else has: any number of them, `wanted` would do. Undefined: nothing now. */
  take(wanted: bigint): Range | undefined;
  /** The piece counts. Its results are shown once this has resolved. Each index is in one such call. */
  done(piece: Piece, result: Result): void | Promise<void>;
  /** Results that are told before their piece counts, or without it: the answer to `first` or `any`. Shown once stored. */
  keep?(result: Result): void | Promise<void>;
  /** Taken, and not done when the run ended. */
  giveBack(range: Range): void;
  /** Indices from `bound` on are no longer wanted. */
  lower(bound: bigint): void;
  /** Told what wakes the engine, where work comes later than it is asked for. */
  watch?(wake: () => void): void;
  /** The job is over, however it ended. Called once, after `giveBack`; the iteration ends when it has resolved. */
  close?(): void | Promise<void>;
}

/** All there is to do, known beforehand and forgotten afterwards. */
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

  done(): void {}

  giveBack(): void {}

  lower(bound: bigint): void {
    while ((this.#ranges.at(-1)?.start ?? -1n) >= bound) this.#ranges.pop();
  }
}

/** A space as people give it: how many indices from 0, or which. */
export const rangeGiven = (space: bigint | number | Range): Range =>
  typeof space === 'object' ? { ...space, length: spaceOf(space.length).length } : spaceOf(BigInt(space));
