import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, maxBigint, minBigint, type Range } from '../../engine/work/space.js';
import { OrderedIndex } from './ordered-index.js';
import { PriorityIndex } from './priority-index.js';

/**
 * Which worker has which indices of a job. Every needed index is in exactly one of three places: counted, waiting, or one
 * segment. A segment is a range with the leases that cover it: usually one, more if a slow worker's range was given out
 * again. So when nothing waits and no segment is left, every index is counted, whatever workers do. Each operation takes
 * O(log n) steps for each segment it touches. `engine/work/coverage` is its model in tests.
 */
export class LeaseTable {
  #waiting: Intervals;
  #counted: Intervals;
  #end: bigint;
  readonly #space: Range;
  readonly #segments = new OrderedIndex<Segment>();
  readonly #slowest = new PriorityIndex<Segment>();
  readonly #leases = new Map<string, LeaseEntry>();
  readonly #byWorker = new Map<string, Set<LeaseEntry>>();
  #returned = Intervals.none;

  constructor(space: Range, counted = Intervals.none) {
    this.#space = space;
    this.#end = endOf(space);
    this.#counted = counted.within(space);
    this.#waiting = Intervals.of(this.#counted.missing(space));
  }

  /** Indices that are with no worker. */
  get waiting(): bigint {
    return this.#waiting.total;
  }

  get counted(): Intervals {
    return this.#counted;
  }

  /** Ranges that are with workers, ascending. */
  *leased(): Generator<Range> {
    for (const { start, end } of this.#segments) yield between(start, end);
  }

  /** Indices that were with a worker which did not do them, or was not believed, and waited again. */
  get returned(): Intervals {
    return this.#returned;
  }

  /** Live leases. */
  get size(): number {
    return this.#leases.size;
  }

  /** Indices from here on are not needed. */
  get end(): bigint {
    return this.#end;
  }

  /** True if every needed index is counted. */
  get isComplete(): boolean {
    return this.#waiting.isEmpty && this.#segments.size === 0;
  }

  /** Steps of all searches and moves so far. */
  get steps(): number {
    return this.#segments.steps + this.#slowest.steps;
  }

  get(id: string): Lease | undefined {
    return this.#leases.get(id);
  }

  leaseCount(worker: string): number {
    return this.#byWorker.get(worker)?.size ?? 0;
  }

  leasesOf(worker: string): readonly Lease[] {
    return [...(this.#byWorker.get(worker) ?? [])];
  }

  /** Leases the lowest waiting indices, at most `length`. Undefined if none wait. */
  grant(grant: LeaseGrant, length: bigint): Lease | undefined {
    const { first } = this.#waiting;
    if (first === undefined) return undefined;
    const range = between(first.start, first.start + minBigint(first.length, maxBigint(length, 1n)));
    const lease = this.#open(grant, range);
    this.#waiting = this.#waiting.remove(range);
    this.#addSegment(range.start, endOf(range), [lease]);
    return lease;
  }

  /**
   * Leases the end of the range that will be done last, which then two workers have: the first result counts. Undefined if
   * this worker would not be done earlier. `perMs` is its rate; the lease has at most `length` indices.
   */
  share(grant: Omit<LeaseGrant, 'expectedEnd'>, length: bigint, perMs: number, now: number): Lease | undefined {
    const own: Segment[] = [];
    let slowest = this.#slowest.top;
    while (slowest?.holders.some(({ worker }) => worker === grant.worker) && own.length < MAX_OWN_SEGMENTS) {
      own.push(slowest);
      this.#slowest.delete(slowest);
      slowest = this.#slowest.top;
    }
    for (const segment of own) this.#slowest.set(segment, segment.expectedEnd);
    if (slowest === undefined || slowest.holders.some(({ worker }) => worker === grant.worker)) return undefined;
    const start = maxBigint(slowest.start, slowest.end - maxBigint(length, 1n));
    const expectedEnd = now + Number(slowest.end - start) / perMs;
    if (expectedEnd >= slowest.expectedEnd) return undefined;
    this.#cut(start);
    const segment = this.#segments.at(start);
    if (segment === undefined) return undefined;
    const lease = this.#open({ ...grant, expectedEnd }, between(segment.start, segment.end));
    this.#hold(segment, lease);
    return lease;
  }

  /**
   * Restores a lease that a worker says it has. It gets those of its indices that wait. Undefined if none do: they are
   * counted, or other workers have them.
   */
  adopt(grant: LeaseGrant, range: Range): Lease | undefined {
    const free = [...this.#waiting.within(range)];
    if (free.length === 0) return undefined;
    const lease = this.#open(grant, range);
    for (const part of free) {
      this.#waiting = this.#waiting.remove(part);
      this.#addSegment(part.start, endOf(part), [lease]);
    }
    return lease;
  }

  /** Sets the time at which a lease will probably be done. */
  expect(id: string, expectedEnd: number): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) return;
    lease.expectedEnd = expectedEnd;
    for (const segment of this.#segmentsOf(lease)) this.#rank(segment);
  }

  /** Counts a range that a worker has done, whether or not it has a lease. */
  finish(range: Range, worker: string): FinishedRange {
    const needed = between(maxBigint(range.start, this.#space.start), minBigint(endOf(range), this.#end));
    if (needed.length <= 0n) return { newRanges: [], overtaken: [] };
    const newRanges = [...this.#counted.missing(needed)];
    const overtaken: Overtaken[] = [];
    for (const part of newRanges) {
      this.#waiting = this.#waiting.remove(part);
      for (const segment of this.#segmentsIn(part)) {
        for (const lease of segment.holders)
          if (lease.worker !== worker) overtaken.push({ lease, range: between(segment.start, segment.end) });
        this.#removeSegment(segment);
      }
    }
    this.#counted = this.#counted.add(needed);
    return { newRanges, overtaken };
  }

  /** Ends a lease. Its indices wait again unless another worker has them. */
  release(id: string): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) return;
    for (const segment of this.#segmentsOf(lease)) {
      if (segment.holders.length === 1) {
        const range = between(segment.start, segment.end);
        this.#waiting = this.#waiting.add(range);
        this.#returned = this.#returned.add(range);
        this.#removeSegment(segment);
      } else {
        segment.holders = segment.holders.filter((holder) => holder !== lease);
        lease.segments--;
        this.#rank(segment);
      }
    }
    this.#close(lease);
  }

  releaseWorker(worker: string): void {
    for (const { id } of this.leasesOf(worker)) this.release(id);
  }

  /** Takes back what was counted: it waits again, if it is needed. */
  revoke(range: Range): void {
    for (const part of this.#counted.within(range)) {
      this.#counted = this.#counted.remove(part);
      const needed = between(part.start, minBigint(endOf(part), this.#end));
      if (needed.length <= 0n) continue;
      this.#waiting = this.#waiting.add(needed);
      this.#returned = this.#returned.add(needed);
    }
  }

  /** Drops the indices from `end` on: they are no longer needed. */
  dropFrom(end: bigint): void {
    if (end >= this.#end) return;
    const beyond = between(maxBigint(end, this.#space.start), this.#end);
    this.#waiting = this.#waiting.remove(beyond);
    for (const segment of this.#segmentsIn(beyond)) this.#removeSegment(segment);
    this.#end = beyond.start;
  }

  /** Throws if an index is in no place or in two. For tests: takes O(n). */
  check(): void {
    let covered = this.#counted.within(between(this.#space.start, this.#end)).total;
    let all = this.#counted;
    const parts = [...this.#waiting, ...[...this.#segments].map(({ start, end }) => between(start, end))];
    for (const part of parts) {
      if (!all.within(part).isEmpty) throw new Error(`${part.start} to ${endOf(part)} is in two places`);
      all = all.add(part);
      covered += part.length;
    }
    if (covered !== this.#end - this.#space.start) throw new Error(`${covered} indices of ${this.#end}`);
    const held = new Map<LeaseEntry, number>();
    for (const { holders } of this.#segments) {
      if (holders.length === 0) throw new Error('a segment without a lease');
      for (const lease of holders) held.set(lease, (held.get(lease) ?? 0) + 1);
    }
    for (const lease of this.#leases.values())
      if (lease.segments !== held.get(lease)) throw new Error(`lease ${lease.id} has ${lease.segments} segments`);
    if (held.size !== this.#leases.size || this.#slowest.size !== this.#segments.size) throw new Error('stray entries');
  }

  #open({ id, worker, expectedEnd, request }: LeaseGrant, range: Range): LeaseEntry {
    if (this.#leases.has(id)) throw new Error(`lease ${id} exists`);
    const lease: LeaseEntry = { id, worker, range, expectedEnd, request, segments: 0 };
    this.#leases.set(id, lease);
    const own = this.#byWorker.get(worker);
    if (own) own.add(lease);
    else this.#byWorker.set(worker, new Set([lease]));
    return lease;
  }

  #close(lease: LeaseEntry): void {
    this.#leases.delete(lease.id);
    const own = this.#byWorker.get(lease.worker);
    own?.delete(lease);
    if (own?.size === 0) this.#byWorker.delete(lease.worker);
  }

  #addSegment(start: bigint, end: bigint, holders: readonly LeaseEntry[]): void {
    const segment: Segment = { start, end, holders, expectedEnd: 0 };
    for (const lease of holders) lease.segments++;
    this.#segments.add(segment);
    this.#rank(segment);
  }

  #removeSegment(segment: Segment): void {
    this.#segments.delete(segment);
    this.#slowest.delete(segment);
    for (const lease of segment.holders) if (--lease.segments === 0) this.#close(lease);
  }

  #hold(segment: Segment, lease: LeaseEntry): void {
    segment.holders = [...segment.holders, lease];
    lease.segments++;
    this.#rank(segment);
  }

  #rank(segment: Segment): void {
    segment.expectedEnd = segment.holders.reduce((least, lease) => Math.min(least, lease.expectedEnd), Infinity);
    this.#slowest.set(segment, segment.expectedEnd);
  }

  /** Splits the segment that has indices on both sides of `index`. */
  #cut(index: bigint): void {
    const segment = this.#segments.at(index - 1n);
    if (segment === undefined || segment.end <= index) return;
    const { end } = segment;
    segment.end = index;
    this.#addSegment(index, end, segment.holders);
  }

  /** Returns the segments of a range, which are cut at its ends. */
  #segmentsIn(range: Range): Segment[] {
    const end = endOf(range);
    this.#cut(range.start);
    this.#cut(end);
    const found: Segment[] = [];
    for (const segment of this.#segments.from(range.start)) {
      if (segment.start >= end) break;
      found.push(segment);
    }
    return found;
  }

  #segmentsOf(lease: LeaseEntry): Segment[] {
    const found: Segment[] = [];
    for (const segment of this.#segments.from(lease.range.start)) {
      if (found.length === lease.segments || segment.start >= endOf(lease.range)) break;
      if (segment.holders.includes(lease)) found.push(segment);
    }
    return found;
  }
}

/** A range that a worker has. */
export interface Lease {
  readonly id: string;
  readonly worker: string;
  readonly range: Range;
  /** The number of the worker's request that the lease answers; 0 if it was adopted. */
  readonly request: number;
  /** When it will probably be done, on the coordinator's clock. */
  readonly expectedEnd: number;
}

export interface LeaseGrant {
  readonly id: string;
  readonly worker: string;
  readonly request: number;
  readonly expectedEnd: number;
}

export interface FinishedRange {
  /** Indices that were not counted before. Only hits in them are new. */
  readonly newRanges: readonly Range[];
  /** Ranges of other workers that are no longer needed. */
  readonly overtaken: readonly Overtaken[];
}

export interface Overtaken {
  readonly lease: Lease;
  readonly range: Range;
}

interface LeaseEntry extends Lease {
  expectedEnd: number;
  /** Segments that it holds. */
  segments: number;
}

interface Segment {
  readonly start: bigint;
  end: bigint;
  holders: readonly LeaseEntry[];
  /** The earliest expected end of its leases. */
  expectedEnd: number;
}

/** A worker has a few leases of a job, each in a few segments. */
const MAX_OWN_SEGMENTS = 16;
