import { between, endOf, type Range } from '../../engine/work/space.js';
import type { Identity } from './standing.js';
import { DID, JOINED, type StoredChanges, type StoredValues, storedUnder } from './stored.js';

/**
 * Who has done the indices of a job that count: merged ranges by worker. It is bounded: beyond `maxRanges`, ranges of a worker
 * that are next to each other are joined, with what others did in between.
 */
export class Provenance {
  readonly #maxRanges: number;
  readonly #works = new Map<Identity, Work>();
  #ranges = 0;
  /** What is to be stored with the next commit. */
  #changes: StoredChanges = new Map();

  constructor(maxRanges = MAX_RANGES) {
    this.#maxRanges = maxRanges;
  }

  /** By what they have done, the most first. */
  get workers(): readonly WorkerPart[] {
    return [...this.#works]
      .map(([worker, { starts, indices, joined }]) => {
        const ranges = [...starts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([start, end]) => between(start, end));
        return { worker, indices, isExact: joined === 0n, ranges };
      })
      .sort((a, b) => Number(b.indices - a.indices));
  }

  /** Takes up what an earlier coordinator has stored. */
  restore(stored: StoredValues): void {
    for (const [key, end] of storedUnder(stored, DID)) {
      const at = key.lastIndexOf('.');
      this.#put(this.#workOf(key.slice(0, at)), between(BigInt(key.slice(at + 1)), BigInt(String(end))));
    }
    for (const [worker, joined] of storedUnder(stored, JOINED)) {
      const work = this.#workOf(worker);
      work.joined = BigInt(String(joined));
      work.indices -= work.joined;
    }
  }

  /** Adds a range that counts. Each index is added once. */
  add(worker: Identity, range: Range): void {
    const work = this.#workOf(worker);
    const start = work.ends.get(range.start) ?? range.start;
    const end = work.starts.get(endOf(range)) ?? endOf(range);
    if (start < range.start) this.#remove(worker, work, start);
    if (end > endOf(range)) this.#remove(worker, work, endOf(range));
    this.#put(work, between(start, end));
    this.#changes.set(rangeKey(worker, start), String(end));
    // A worker keeps at least one range.
    if (this.#ranges > Math.max(this.#maxRanges, 2 * this.#works.size)) this.#join();
  }

  get hasChanges(): boolean {
    return this.#changes.size > 0;
  }

  /** Returns what has to be stored, since the last call. */
  takeChanges(): StoredChanges {
    const changes = this.#changes;
    this.#changes = new Map();
    return changes;
  }

  #workOf(worker: Identity): Work {
    const known = this.#works.get(worker) ?? { starts: new Map(), ends: new Map(), indices: 0n, joined: 0n };
    this.#works.set(worker, known);
    return known;
  }

  #put(work: Work, range: Range): void {
    work.starts.set(range.start, endOf(range));
    work.ends.set(endOf(range), range.start);
    work.indices += range.length;
    this.#ranges++;
  }

  #remove(worker: Identity, work: Work, start: bigint): void {
    const end = work.starts.get(start);
    if (end === undefined) return;
    work.starts.delete(start);
    work.ends.delete(end);
    work.indices -= end - start;
    this.#ranges--;
    this.#changes.set(rangeKey(worker, start), undefined);
  }

  /** Joins every second range of each worker with the one before it. */
  #join(): void {
    for (const { worker, ranges } of this.workers) {
      const work = this.#workOf(worker);
      for (let at = 0; at + 1 < ranges.length; at += 2) {
        const [first, second] = [ranges[at], ranges[at + 1]] as [Range, Range];
        const { indices } = work;
        this.#remove(worker, work, first.start);
        this.#remove(worker, work, second.start);
        const end = endOf(second) > endOf(first) ? endOf(second) : endOf(first);
        this.#put(work, between(first.start, end));
        this.#changes.set(rangeKey(worker, first.start), String(end));
        work.joined += work.indices - indices;
        work.indices = indices;
      }
      if (work.joined !== 0n) this.#changes.set(`${JOINED}.${worker}`, String(work.joined));
    }
  }
}

/** What a worker has done of a job. */
export interface WorkerPart {
  readonly worker: Identity;
  readonly indices: bigint;
  /** Ascending. If they are not exact, others have done parts of them. */
  readonly ranges: readonly Range[];
  readonly isExact: boolean;
}

interface Work {
  /** The end of each range by its start, and the other way round. */
  readonly starts: Map<bigint, bigint>;
  readonly ends: Map<bigint, bigint>;
  /** Indices that the worker has done. */
  indices: bigint;
  /** Indices of its ranges that it has not done. */
  joined: bigint;
}

const rangeKey = (worker: Identity, start: bigint): string => `${DID}.${worker}.${start}`;

/** Some megabytes. */
const MAX_RANGES = 20_000;
