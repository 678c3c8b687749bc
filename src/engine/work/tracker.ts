import {
  abandon,
  type Coverage,
  cover,
  duplicate,
  extend,
  type Flight,
  finish,
  frontierOf,
  giveBack,
  isComplete,
  isHandedOut,
  limit,
  soleIndices,
  type Taken,
  take,
  tryAgain,
  waitingIn,
} from './coverage.js';
import { Intervals } from './intervals.js';
import type { ChunkSource } from './source.js';
import { endOf, least, type Piece, type Range } from './space.js';

/**
 * A job's indices: which are waiting, with a device, done, stored. It takes ranges from the source as they are needed,
 * and gives back what is not done in the end.
 */
export class Account {
  readonly #source: ChunkSource<unknown>;
  #coverage: Coverage;
  #leased = Intervals.none;
  /** Pieces that count and are not yet stored. */
  readonly #storing = new Set<Piece>();
  #obsolete: ReadonlySet<number> = new Set();
  #counted = 0n;

  constructor(source: ChunkSource<unknown>) {
    this.#source = source;
    this.#coverage = cover([], source.completed, source.isExhausted ? undefined : 0n);
  }

  /** Indices that count. */
  get counted(): bigint {
    return this.#counted;
  }

  /** Indices that nobody has, as far as they are known. */
  get waiting(): bigint {
    return waitingIn(this.#coverage);
  }

  /** What waits to be handed out for the first time, or again. */
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
    return this.#storing.size > 0;
  }

  /** Pieces that count and are not yet stored. */
  get storing(): number {
    return this.#storing.size;
  }

  /** The smallest index that matters and is not done and stored; undefined when all are. */
  get frontier(): bigint | undefined {
    const starts = [...this.#storing].map(({ start }) => start);
    const frontier = frontierOf(this.#coverage);
    return frontier === undefined && starts.length === 0
      ? undefined
      : starts.reduce((lowest, start) => least(lowest, start), frontier ?? this.#coverage.end);
  }

  /** Whether what everything else waits for is with nobody. */
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
      this.#coverage = extend(this.#coverage, NOTHING, undefined);
    }
  }

  /** The lowest indices that nobody has, of all or of a part. */
  take(device: string, most: number, within?: Range): Flight | undefined {
    return this.#taken(take(this.#coverage, { id: chunkId(), device, most, within }));
  }

  /** Indices that a chunk in flight has, for another device. */
  double(device: string, most: number, id: number): Flight | undefined {
    return this.#taken(duplicate(this.#coverage, { id: chunkId(), device, most, within: undefined }, id));
  }

  /** How many indices of a chunk in flight no other device has. */
  soleCount(id: number): number {
    return soleIndices(this.#coverage, id).reduce((sum, { length }) => sum + Number(length), 0);
  }

  /** The chunk is done: what of it had not counted before, and counts now. Each part is to be `stored`. */
  finish(id: number): Piece[] {
    const { coverage, fresh, obsolete } = finish(this.#coverage, id);
    this.#coverage = coverage;
    this.#obsolete = new Set(obsolete);
    const parts = fresh.map(({ start, length }): Piece => ({ start, count: Number(length) }));
    for (const part of parts) {
      this.#storing.add(part);
      this.#counted += BigInt(part.count);
    }
    return parts;
  }

  stored(part: Piece): void {
    this.#storing.delete(part);
  }

  /** Nothing of the chunk counts. */
  giveBack(id: number): void {
    this.#coverage = giveBack(this.#coverage, id);
  }

  /** The chunk is overdue: others may do it too. */
  abandon(id: number): void {
    this.#coverage = abandon(this.#coverage, id);
  }

  /** The chunk is done again in chunks of at most `most` indices. */
  tryAgain(id: number, most: number): void {
    this.#coverage = tryAgain(this.#coverage, id, most);
  }

  /** Indices from `bound` on no longer matter. */
  lower(bound: bigint): void {
    const { coverage, obsolete } = limit(this.#coverage, bound);
    this.#coverage = coverage;
    this.#obsolete = new Set([...this.#obsolete, ...obsolete]);
    this.#source.lower(bound);
  }

  /** Whether nobody needs a chunk in flight any longer. */
  isObsolete(id: number): boolean {
    return this.#obsolete.has(id);
  }

  /** The job is over. */
  close(): void {
    for (const range of this.#leased) {
      for (const missing of this.#coverage.done.missing(range)) this.#source.giveBack(missing);
    }
    this.#leased = Intervals.none;
  }

  #taken(taken: Taken | undefined): Flight | undefined {
    if (taken) this.#coverage = taken.coverage;
    return taken?.flight;
  }
}

const NOTHING = { start: 0n, length: 0n } as const;

let ids = 0;
/** A number for a chunk: a device has chunks of several jobs, so that no two in the process have the same. */
export const chunkId = (): number => ids++;
