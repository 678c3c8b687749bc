import type { Aim } from './feed/chunk-size.js';
import type { Flow } from './flow/flow.js';
import type { Partition } from './run/partition.js';
import type { ChunkSource } from './work/source.js';
import type { Piece } from './work/space.js';

/**
 * What a flow maker (`search`, `generate`, `transform`) asks of the engine: which work there is, how a chunk of it runs,
 * what a right result is, and where results go.
 */
export interface Job<Result> {
  readonly name: string;
  readonly flow: Flow<Result>;
  readonly source: ChunkSource<Result>;
  /** Default `batch`. */
  readonly aim?: Aim;
  readonly signal?: AbortSignal;
  /** Default: devices pull. A partition takes everything from the source at once. */
  readonly partition?: Partition;
  /** Results are views into their slot's memory: it stays with them until they are released. */
  readonly keepsSlot?: boolean;
  readonly canaries?: readonly Canary<Result>[];
  /** Hits that a ring holds, and how many there are in a result: chunks are sized so that rings seldom overflow. */
  readonly hits?: { readonly room: number; count(result: Result): number };
  /** Checks a complete chunk's result by independent code. Throws when that is impossible: then the job fails. */
  verify(piece: Piece, result: Result): Finding | Promise<Finding>;
  /** A result that was found right; it may not count yet. Nothing more is done with it until this has resolved. */
  verified?(piece: Piece, result: Result): void | Promise<void>;
  /** The part of a piece's result that lies in a part of the piece. */
  part(piece: Piece, result: Result, part: Piece): Result;
  /** A result that counts: each index comes once, in no order. */
  credit(credit: Credit<Result>): void;
  /** How far the consumer is behind; default `none`. */
  backlog?(): Backlog;
  /** More results wait for a canary, or fewer. */
  held?(): void;
  /** Something will be done again; what waits behind it should not hold on to slots. */
  returned?(): void;
}

/**
 * `unread`: too many results wait for the reader, so no chunk is started. `held`: too many results wait for an earlier
 * chunk, so only that chunk is started.
 */
export type Backlog = 'none' | 'held' | 'unread';

export interface Finding {
  /** How many results were recomputed. */
  readonly checked: number;
  /** What is wrong, for people; undefined when nothing is. */
  readonly wrong?: string;
}

export interface Credit<Result> {
  readonly piece: Piece;
  readonly result: Result;
  readonly device: string;
  /** The result is no longer looked at. */
  release(): void;
}

/** A chunk whose result is known, to see whether a device finds it. */
export interface Canary<Result> {
  readonly piece: Piece;
  /** Which job values it runs with (`FlowSpec.others`); 0 is the job's own. */
  readonly values: number;
  isFound(result: Result): boolean;
}
