import { Intervals } from '../../../engine/work/intervals.js';
import { between, endOf, type Range } from '../../../engine/work/space.js';
import type { FoundHit, LeaseClaim, LeaseReport } from '../messages.js';

/** A worker's side of a lease: what is left of it, and what is done and not yet reported. */
export class HeldLease {
  readonly claim: LeaseClaim;
  readonly token: string;
  /** The time that it is meant for. */
  readonly ms: number;
  /** Reports that are not committed. */
  unconfirmed = 0;
  #left: Intervals;
  #unreported = Intervals.none;
  /** Witnesses too. */
  #found: Found[] = [];
  #reportedAt: number;

  constructor(claim: LeaseClaim, token: string, ms: number, now: number) {
    this.claim = claim;
    this.token = token;
    this.ms = ms;
    this.#left = Intervals.of([claim.range]);
    this.#reportedAt = now;
  }

  /** Indices that are to be done. */
  get left(): Intervals {
    return this.#left;
  }

  /** True if everything is done or dropped, and committed. */
  get isOver(): boolean {
    return this.#left.isEmpty && this.#unreported.isEmpty && this.unconfirmed === 0;
  }

  get report(): LeaseReport {
    return { ...this.claim, token: this.token, left: this.#left.total };
  }

  /** When it is to be reported: at once if it is done or has hits, else together with heartbeats. */
  reportAt(beatMs: number): number {
    if (this.#unreported.isEmpty) return Infinity;
    if (this.#left.isEmpty) return 0;
    return this.#reportedAt + (this.#found.some(({ isHit }) => isHit) ? HITS_MS : beatMs);
  }

  /** Records what is done of this lease. */
  finish(range: Range, hits: readonly FoundHit[], witnesses: readonly FoundHit[] = []): void {
    const own = this.#left.within(range);
    if (own.isEmpty) return;
    this.#left = this.#left.remove(range);
    for (const part of own) this.#unreported = this.#unreported.add(part);
    const isOwn = ({ index }: FoundHit): boolean => own.has({ start: index, length: 1n });
    for (const hit of hits.filter(isOwn)) this.#found.push({ index: hit.index, hit, isHit: true });
    for (const hit of witnesses.filter(isOwn)) this.#found.push({ index: hit.index, hit, isHit: false });
  }

  /** Leaves out what is not to be done. Returns it. */
  drop(ranges: Intervals): Intervals {
    let dropped = Intervals.none;
    for (const range of ranges) {
      for (const part of this.#left.within(range)) dropped = dropped.add(part);
      this.#left = this.#left.remove(range);
    }
    return dropped;
  }

  /** Returns what is done, in reports of a limited size. Each has all hits and witnesses of its ranges. */
  takeReports(now: number): DoneReport[] {
    const all = this.#found.sort((a, b) => (a.index < b.index ? -1 : a.index > b.index ? 1 : 0));
    const reports: { ranges: Range[]; found: Found[] }[] = [{ ranges: [], found: [] }];
    let at = 0;
    const add = (start: bigint, end: bigint): void => {
      let report = reports.at(-1);
      if (report === undefined || report.ranges.length >= MAX_RANGES || report.found.length >= MAX_HITS) {
        report = { ranges: [], found: [] };
        reports.push(report);
      }
      // Hits of one index stay together: cut after an index, not between two of its hits.
      let next = at;
      let cut = end;
      for (let hit = all[next]; hit !== undefined && hit.index < end; hit = all[++next]) {
        if (report.found.length + next - at < MAX_HITS || hit.index === all[next - 1]?.index) continue;
        cut = hit.index;
        break;
      }
      report.found.push(...all.slice(at, next));
      at = next;
      if (cut > start) report.ranges.push(between(start, cut));
      if (cut < end) add(cut, end);
    };
    for (const range of this.#unreported) add(range.start, endOf(range));
    this.#unreported = Intervals.none;
    this.#found = [];
    this.#reportedAt = now;
    return reports
      .filter(({ ranges }) => ranges.length > 0)
      .map(({ ranges, found }) => ({
        ranges,
        hits: found.filter(({ isHit }) => isHit).map(({ hit }) => hit),
        witnesses: found.filter(({ isHit }) => !isHit).map(({ hit }) => hit),
      }));
  }
}

export interface DoneReport {
  readonly ranges: readonly Range[];
  readonly hits: readonly FoundHit[];
  readonly witnesses: readonly FoundHit[];
}

interface Found {
  readonly index: bigint;
  readonly hit: FoundHit;
  readonly isHit: boolean;
}

/** Hits wait this long for others, so that dense ones do not become a message each. */
const HITS_MS = 100;
const MAX_RANGES = 100;
const MAX_HITS = 1000;
