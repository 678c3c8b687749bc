import type { WorkCoverage } from './bins.js';
import {
  type Assignment,
  abandon,
  type Coverage,
  cover,
  dropFrom,
  duplicate,
  extend,
  finish,
  forget,
  frontierOf,
  giveBack,
  type InFlightChunk,
  isComplete,
  isHandedOut,
  queueRetry,
  take,
  unsharedIndices,
  waitingCount,
} from './coverage.js';
import { Intervals } from './intervals.js';
import type { ChunkSource } from './source.js';
import { endOf, minBigint, type Piece, type Range, rangeOf } from './space.js';

/**
 * Tracks a job's indices: waiting, in flight, done, stored. Takes ranges from the source as needed, and returns what is
 * not done at the end.
 */
export class WorkTracker {
  readonly #source: ChunkSource<unknown>;
  #coverage: Coverage;
  #leased = Intervals.none;
  /** Pieces that count and are not yet stored. */
  readonly #unstored = new Set<Piece>();
  #obsolete: ReadonlySet<number> = new Set();
  #counted = 0n;
  /** Indices that were handed out again. */
  #redone = Intervals.none;

  constructor(source: ChunkSource<unknown>) {
    this.#source = source;
    this.#coverage = cover([], source.completed, source.isExhausted ? undefined : 0n);
  }

  /** Indices that count. */
  get counted(): bigint {
    return this.#counted;
  }

  /** Returns where the indices are. `isOnDevice` is false for chunks that have ended and wait for a check. */
  places(isOnDevice: (id: number) => boolean): WorkCoverage {
    const { done, inFlight } = this.#coverage;
    const chunks = [...inFlight.values()].filter(({ isAbandoned }) => !isAbandoned);
    // Several devices may have the same indices, and one of them may have done them.
    const rangesOf = (isHere: boolean, others: Intervals): Range[] =>
      chunks.filter(({ id }) => isOnDevice(id) === isHere).flatMap((chunk) => [...others.missing(rangeOf(chunk))]);
    const unconfirmed = Intervals.of(rangesOf(false, done));
    const ended = [...unconfirmed].reduce((all, range) => all.add(range), done);
    return { done, onDevice: Intervals.of(rangesOf(true, ended)), unconfirmed, redone: this.#redone };
  }

  /** Known indices that are not assigned to any device. */
  get waiting(): bigint {
    return waitingCount(this.#coverage);
  }

  /** Indices that wait to be handed out, for the first time or again. */
  get todo(): Intervals {
    return this.#coverage.todo;
  }

  get isHandedOut(): boolean {
    return isHandedOut(this.#coverage);
  }

  get isComplete(): boolean {
    return isComplete(this.#coverage) && !this.isStoring;
  }

  get isStoring(): boolean {
    return this.#unstored.size > 0;
  }

  /** Pieces that count and are not yet stored. */
  get unstoredCount(): number {
    return this.#unstored.size;
  }

  /** The smallest needed index that is not both done and stored. Undefined if all are. */
  get frontier(): bigint | undefined {
    const starts = [...this.#unstored].map(({ start }) => start);
    const frontier = frontierOf(this.#coverage);
    return frontier === undefined && starts.length === 0
      ? undefined
      : starts.reduce((lowest, start) => minBigint(lowest, start), frontier ?? this.#coverage.end);
  }

  /** True if the lowest unfinished range is not assigned to any device. */
  get isFrontierWaiting(): boolean {
    const { todo, retry } = this.#coverage;
    const frontier = frontierOf(this.#coverage);
    return frontier !== undefined && (todo.first?.start === frontier || retry[0]?.start === frontier);
  }

  /** Takes ranges from the source until `enough` indices wait. */
  lease(enough: bigint): void {
    const source = this.#source;
    while (!source.isExhausted && this.waiting < enough) {
      const range = source.take(enough);
      if (range === undefined) return;
      this.#leased = this.#leased.add(range);
      this.#coverage = extend(this.#coverage, range, endOf(range));
    }
    if (source.isExhausted && this.#coverage.horizon !== undefined) {
      this.#coverage = extend(this.#coverage, EMPTY_RANGE, undefined);
    }
  }

  /** Takes the lowest waiting indices, of all or of a part. */
  take(device: string, max: number, within?: Range): InFlightChunk | undefined {
    return this.#apply(take(this.#coverage, { id: nextChunkId(), device, max, within }));
  }

  /** Takes indices of a chunk in flight for a second device. */
  duplicate(device: string, max: number, id: number): InFlightChunk | undefined {
    return this.#apply(duplicate(this.#coverage, { id: nextChunkId(), device, max, within: undefined }, id));
  }

  /** Returns the number of indices of a chunk in flight that no other device has. */
  unsharedCount(id: number): number {
    return unsharedIndices(this.#coverage, id).reduce((sum, { length }) => sum + Number(length), 0);
  }

  /** True if none of a chunk's indices count. */
  isUncounted(id: number): boolean {
    const chunk = this.#coverage.inFlight.get(id);
    if (chunk === undefined) return false;
    const [first] = this.#coverage.done.missing(rangeOf(chunk));
    return first?.length === BigInt(chunk.count);
  }

  /**
   * Records that a chunk is done. Returns its parts that had not counted before and count now. Call `markStored` for each.
   */
  finish(id: number): Piece[] {
    const { coverage, newRanges, obsolete } = finish(this.#coverage, id);
    this.#coverage = coverage;
    this.#obsolete = new Set(obsolete);
    const parts = newRanges.map(({ start, length }): Piece => ({ start, count: Number(length) }));
    for (const part of parts) {
      this.#unstored.add(part);
      this.#counted += BigInt(part.count);
    }
    return parts;
  }

  markStored(part: Piece): void {
    this.#unstored.delete(part);
  }

  /** Returns a chunk's indices: none of them count. */
  giveBack(id: number): void {
    this.#markRedone(id);
    this.#coverage = giveBack(this.#coverage, id);
  }

  /** Lets other devices run an overdue chunk too. */
  abandon(id: number): void {
    this.#markRedone(id);
    this.#coverage = abandon(this.#coverage, id);
  }

  /** Queues the chunk to run again in chunks of at most `max` indices. */
  queueRetry(id: number, max: number): void {
    this.#markRedone(id);
    this.#coverage = queueRetry(this.#coverage, id, max);
  }

  /** Drops the indices from `bound` on: they are no longer needed. */
  dropFrom(bound: bigint): void {
    const { coverage, obsolete } = dropFrom(this.#coverage, bound);
    this.#coverage = coverage;
    this.#obsolete = new Set([...this.#obsolete, ...obsolete]);
    this.#source.dropFrom(bound);
  }

  /** Lets a range be done again. */
  forget(range: Range): void {
    this.#coverage = forget(this.#coverage, range);
  }

  /** True if a chunk in flight is no longer needed. */
  isObsolete(id: number): boolean {
    return this.#obsolete.has(id);
  }

  /** Returns all leased indices that are not done to the source. */
  close(): void {
    for (const range of this.#leased) {
      for (const missing of this.#coverage.done.missing(range)) this.#source.giveBack(missing);
    }
    this.#leased = Intervals.none;
  }

  #markRedone(id: number): void {
    const chunk = this.#coverage.inFlight.get(id);
    if (chunk) this.#redone = this.#redone.add(rangeOf(chunk));
  }

  #apply(taken: Assignment | undefined): InFlightChunk | undefined {
    if (taken) this.#coverage = taken.coverage;
    return taken?.chunk;
  }
}

const EMPTY_RANGE = { start: 0n, length: 0n } as const;

let ids = 0;
/** Returns a chunk number. It is unique in the process, because a device has chunks of several jobs. */
export const nextChunkId = (): number => ids++;
