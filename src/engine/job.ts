import type { Aim } from './feed/chunk-size.js';
import type { Flow } from './flow/flow.js';
import type { Partition } from './run/partition.js';
import type { ChunkSource } from './work/source.js';
import type { Piece } from './work/space.js';

/**
 * A job as `search`, `generate`, `transform` or `reduce` gives it to the engine: the work, how a chunk runs, how a result is
 * checked, and where results go.
 */
export interface Job<Result> {
  readonly name: string;
  readonly flow: Flow<Result>;
  readonly source: ChunkSource<Result>;
  /** Default `batch`. */
  readonly aim?: Aim;
  readonly signal?: AbortSignal;
  /** Default: devices pull. A partition takes all ranges from the source at once. */
  readonly partition?: Partition;
  /** Results are views into their slot's memory. The slot stays reserved until they are released. */
  readonly keepsSlot?: boolean;
  /** A result belongs to its whole piece and has no parts: it counts if no index of the piece has counted before. */
  readonly isIndivisible?: boolean;
  readonly canaries?: readonly Canary<Result>[];
  /** The hits a ring holds, and the number of hits in a result. Chunks are sized so that rings seldom overflow. */
  readonly hits?: { readonly capacity: number; count(result: Result): number };
  /** Checks a complete chunk's result with independent code. If it throws, the job fails. */
  verify(piece: Piece, result: Result): CheckResult | Promise<CheckResult>;
  /**
   * Called with a result that passed its check but may not count yet. The run waits for the promise before it does more
   * with it.
   */
  onVerified?(piece: Piece, result: Result): void | Promise<void>;
  /** Returns the part of a piece's result that lies in `part`. */
  part(piece: Piece, result: Result, part: Piece): Result;
  /** Receives a result that counts. Each index comes once, in any order. */
  deliver(delivered: DeliveredResult<Result>): void;
  /** Why new chunks must wait for the consumer. Default `none`. */
  backlog?(): Backlog;
  /** Called when the number of results that wait for a canary changes. */
  onHeldChange?(): void;
  /** Called when indices are queued to run again. Results that wait behind them should release their slots. */
  onRequeue?(): void;
}

/**
 * `unread`: too many results wait for the reader, so no chunk is started. `held`: too many results wait for an earlier
 * chunk, so only that chunk is started.
 */
export type Backlog = 'none' | 'held' | 'unread';

export interface CheckResult {
  /** Number of results that were recomputed. */
  readonly checked: number;
  /** What is wrong, as text for the user. Undefined if the result is right. */
  readonly wrong?: string;
}

export interface DeliveredResult<Result> {
  readonly piece: Piece;
  readonly result: Result;
  readonly device: string;
  /** Ends the use of `result`: its slot may be reused. */
  release(): void;
}

/** A chunk with a known result, used to test whether a device finds it. */
export interface Canary<Result> {
  readonly piece: Piece;
  /** The set of job values it runs with (`FlowSpec.extraJobs`). 0 is the job's own set. */
  readonly valueSet: number;
  isFound(result: Result): boolean;
}
