import type { Range } from '../../../engine/work/space.js';
import type { Overtaken } from '../../lease/index.js';
import type { FoundHit, JobId, WorkerId } from '../messages.js';

/** A result that counts once it is in the ledger. */
export interface AcceptedResult {
  readonly receipts: readonly number[];
  readonly worker: WorkerId;
  /** Undefined if it was confirmed before. */
  readonly number: number | undefined;
  readonly job: JobId;
  /** They count no longer. */
  readonly reopened?: readonly Range[];
  readonly ranges: readonly Range[];
  readonly hits: readonly FoundHit[];
  /** Hits of ranges that do not count yet. */
  readonly early: readonly FoundHit[];
  readonly overtaken: readonly Overtaken[];
  /** When it arrived first. */
  readonly arrivedAt: number;
}

/** Results on their way to the ledger. One batch is written at a time; what arrives during a write is the next one. */
export class CommitQueue {
  #writing: AcceptedResult[] | undefined;
  #waiting: AcceptedResult[] = [];

  /** True if everything that was added is in the ledger. */
  get isIdle(): boolean {
    return this.#writing === undefined;
  }

  /** Results that are not in the ledger. */
  get size(): number {
    return (this.#writing?.length ?? 0) + this.#waiting.length;
  }

  /** When the oldest of them arrived. */
  get oldestAt(): number | undefined {
    const oldest = [...(this.#writing ?? []), ...this.#waiting].reduce(
      (least, { arrivedAt }) => Math.min(least, arrivedAt),
      Infinity,
    );
    return oldest === Infinity ? undefined : oldest;
  }

  add(result: AcceptedResult): void {
    this.#waiting.push(result);
  }

  /** True if a result of the job is not in the ledger. */
  has(job: JobId): boolean {
    return [...(this.#writing ?? []), ...this.#waiting].some((result) => result.job === job);
  }

  /** Starts the next batch, if none is being written. It may be empty if something else `isDue`. */
  next(isDue: boolean): AcceptedResult[] | undefined {
    if (this.#writing !== undefined || (this.#waiting.length === 0 && !isDue)) return undefined;
    this.#writing = this.#waiting;
    this.#waiting = [];
    return this.#writing;
  }

  /** Returns the batch that is now in the ledger. */
  finish(): AcceptedResult[] {
    const written = this.#writing ?? [];
    this.#writing = undefined;
    return written;
  }
}
