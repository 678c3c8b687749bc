import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, minBigint, type Range } from '../../engine/work/space.js';
import type { Identity } from './standing.js';
import { AGREED, DID, JOINED, type StoredChanges, type StoredValues, storedUnder } from './stored.js';

/**
 * Who has done the indices of a job that count, and who has done them again and agreed: merged ranges by worker. It is bounded:
 * beyond `maxRanges`, ranges of a worker that are next to each other are joined, with what others did in between.
 */
export class Provenance {
  readonly #maxRanges: number;
  readonly #works = new Map<Identity, Work>();
  readonly #agreements = new Map<Identity, Work>();
  #ranges = 0;
  /** What is to be stored with the next commit. */
  #changes: StoredChanges = new Map();

  constructor(maxRanges = MAX_RANGES) {
    this.#maxRanges = maxRanges;
  }

  /** By what they have done, the most first; by name if they have done the same. */
  get workers(): readonly WorkerPart[] {
    return [...this.#works]
      .map(([worker, { starts, indices, joined }]) => {
        const ranges = [...starts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([start, end]) => between(start, end));
        return { worker, indices, isExact: joined === 0n, ranges };
      })
      .sort((a, b) => Number(b.indices - a.indices) || (a.worker < b.worker ? -1 : 1));
  }

  /** Takes up what an earlier coordinator has stored. */
  restore(stored: StoredValues): void {
    for (const [word, works] of [
      [DID, this.#works],
      [AGREED, this.#agreements],
    ] as const)
      for (const [key, end] of storedUnder(stored, word)) {
        const at = key.lastIndexOf('.');
        this.#put(workOf(works, key.slice(0, at)), between(BigInt(key.slice(at + 1)), BigInt(String(end))));
      }
    for (const [worker, joined] of storedUnder(stored, JOINED)) {
      const work = workOf(this.#works, worker);
      work.joined = BigInt(String(joined));
      work.indices -= work.joined;
    }
  }

  /** Adds a range that counts. Each index is added once. */
  add(worker: Identity, range: Range): void {
    this.#extend(DID, worker, workOf(this.#works, worker), range);
    // A worker keeps at least one range.
    if (this.#ranges > Math.max(this.#maxRanges, 2 * this.#works.size)) this.#join();
  }

  /** Another worker has done the range again, and found the same. */
  agree(worker: Identity, range: Range): void {
    const work = workOf(this.#agreements, worker);
    const known = work.starts.get(range.start) ?? 0n;
    // Beyond the bound it is not noted: more may have to be done again one day.
    if (known >= endOf(range) || this.#ranges >= this.#maxRanges) return;
    this.#remove(AGREED, worker, work, range.start);
    this.#extend(AGREED, worker, work, range);
  }

  /** True if some of these workers have done something, or have agreed. */
  involves(isMeant: (worker: Identity) => boolean): boolean {
    return [...this.#works.keys(), ...this.#agreements.keys()].some(isMeant);
  }

  /**
   * Returns what rests on the word of these workers alone: they did it, and no worker that is believed has done it again and agreed.
   * Where ranges were joined it may be more.
   */
  restingOn(
    isMeant: (worker: Identity) => boolean,
    isBelieved: (worker: Identity) => boolean = (worker) => !isMeant(worker),
  ): Intervals {
    let ranges = Intervals.none;
    for (const [worker, { starts }] of this.#works)
      if (isMeant(worker)) for (const [start, end] of starts) ranges = ranges.add(between(start, end));
    if (ranges.isEmpty) return ranges;
    // Joined ranges of others are no proof that they did what is in them.
    const exact = [...this.#works].filter(([worker, { joined }]) => joined === 0n && !isMeant(worker));
    const agreed = [...this.#agreements].filter(([worker]) => isBelieved(worker));
    for (const [, { starts }] of [...exact, ...agreed])
      for (const [start, end] of starts) ranges = ranges.remove(between(start, end));
    return ranges;
  }

  /** Forgets who has done ranges, which are to be done again. */
  remove(ranges: Intervals): void {
    for (const [worker, work] of this.#agreements) this.#cut(AGREED, worker, work, ranges);
    for (const [worker, work] of this.#works) {
      const { indices } = work;
      if (!this.#cut(DID, worker, work, ranges) || work.joined === 0n) continue;
      // It is not known what of its joined ranges the worker did: it stays unknown.
      const whole = work.indices + work.joined;
      work.indices = whole === 0n ? 0n : minBigint(indices, whole - 1n);
      work.joined = whole - work.indices;
      this.#changes.set(`${JOINED}.${worker}`, work.joined === 0n ? undefined : String(work.joined));
    }
    for (const works of [this.#works, this.#agreements])
      for (const [worker, { starts }] of works) if (starts.size === 0) works.delete(worker);
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

  /** Takes ranges out of those of a worker. Returns false if it has none of them. */
  #cut(word: string, worker: Identity, work: Work, ranges: Intervals): boolean {
    let isCut = false;
    for (const [start, end] of [...work.starts]) {
      const range = between(start, end);
      if (ranges.within(range).isEmpty) continue;
      isCut = true;
      this.#remove(word, worker, work, start);
      for (const rest of ranges.missing(range)) this.#extend(word, worker, work, rest);
    }
    return isCut;
  }

  /** Adds a range, merged with those that it touches. */
  #extend(word: string, worker: Identity, work: Work, range: Range): void {
    const start = work.ends.get(range.start) ?? range.start;
    const end = work.starts.get(endOf(range)) ?? endOf(range);
    if (start < range.start) this.#remove(word, worker, work, start);
    if (end > endOf(range)) this.#remove(word, worker, work, endOf(range));
    this.#put(work, between(start, end));
    this.#changes.set(rangeKey(word, worker, start), String(end));
  }

  #put(work: Work, range: Range): void {
    work.starts.set(range.start, endOf(range));
    work.ends.set(endOf(range), range.start);
    work.indices += range.length;
    this.#ranges++;
  }

  #remove(word: string, worker: Identity, work: Work, start: bigint): void {
    const end = work.starts.get(start);
    if (end === undefined) return;
    work.starts.delete(start);
    work.ends.delete(end);
    work.indices -= end - start;
    this.#ranges--;
    this.#changes.set(rangeKey(word, worker, start), undefined);
  }

  /** Joins every second range of each worker with the one before it. */
  #join(): void {
    for (const { worker, ranges } of this.workers) {
      const work = workOf(this.#works, worker);
      for (let at = 0; at + 1 < ranges.length; at += 2) {
        const [first, second] = [ranges[at], ranges[at + 1]] as [Range, Range];
        const { indices } = work;
        this.#remove(DID, worker, work, first.start);
        this.#remove(DID, worker, work, second.start);
        const end = endOf(second) > endOf(first) ? endOf(second) : endOf(first);
        this.#put(work, between(first.start, end));
        this.#changes.set(rangeKey(DID, worker, first.start), String(end));
        work.joined += work.indices - indices;
        work.indices = indices;
      }
      if (work.joined !== 0n) this.#changes.set(`${JOINED}.${worker}`, String(work.joined));
    }
  }
}

function workOf(works: Map<Identity, Work>, worker: Identity): Work {
  const known = works.get(worker) ?? { starts: new Map(), ends: new Map(), indices: 0n, joined: 0n };
  works.set(worker, known);
  return known;
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

const rangeKey = (word: string, worker: Identity, start: bigint): string => `${word}.${worker}.${start}`;

/** Some tens of megabytes. */
const MAX_RANGES = 100_000;
