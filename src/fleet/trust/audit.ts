import { Intervals } from '../../engine/work/intervals.js';
import { between, maxBigint, minBigint, type Range } from '../../engine/work/space.js';
import { Collected, type Contribution, compare, partOf, type Report } from './contribution.js';
import type { Identity } from './standing.js';

/**
 * A contribution that others do again, in parts that suit their speed. To its auditors each is a lease like any other. One
 * reliable auditor is enough; new ones have to be two, as the first might be the worker's accomplice.
 */
export class Audit {
  readonly contribution: Contribution;
  /** It tests its auditor: the contribution is settled. */
  readonly isCanary: boolean;
  /** What is neither done again nor with an auditor. */
  #left: Intervals;
  readonly #pieces = new Map<string, Piece>();
  /** Auditors that have agreed: of this pass, and of the one before. */
  #auditors = new Set<Identity>();
  #earlier: ReadonlySet<Identity> = new Set();
  #isFirstPass = true;
  #isReliable = true;
  /** Who is to do what is left, and since when. */
  assignee: { readonly worker: Identity; readonly at: number } | undefined;

  constructor(contribution: Contribution, isCanary = false) {
    this.contribution = contribution;
    this.isCanary = isCanary;
    this.#left = Intervals.of([contribution.range]);
  }

  /** True if an auditor is to be found. */
  get isWaiting(): boolean {
    return this.assignee === undefined && !this.#left.isEmpty;
  }

  /** Parts that are with auditors. */
  get pieces(): Iterable<Piece> {
    return this.#pieces.values();
  }

  /** True if an auditor has something of it, or has done it. */
  get hasBegun(): boolean {
    return this.#pieces.size + this.#auditors.size > 0 || !this.#isFirstPass;
  }

  canBeDoneBy(worker: Identity): boolean {
    return worker !== this.contribution.worker && !this.#earlier.has(worker);
  }

  /** Gives the assignee the next part. */
  take(grant: PieceGrant, length: bigint): Piece | undefined {
    const { first } = this.#left;
    if (first === undefined || this.assignee?.worker !== grant.worker) return undefined;
    const range = between(first.start, first.start + minBigint(first.length, maxBigint(length, 1n)));
    const piece: Piece = { ...grant, range, collected: new Collected(), audit: this };
    this.#left = this.#left.remove(range);
    this.#pieces.set(piece.id, piece);
    return piece;
  }

  /** Adds to what an auditor has done. Returns who is right once its part is whole. */
  report(piece: Piece, report: Report, isReliable: boolean): Verdict | undefined {
    piece.collected.add(report);
    if (!piece.collected.done.has(piece.range)) return undefined;
    const { contribution } = this;
    const comparison = compare(partOf(contribution, piece.range), piece.collected.within(piece.range));
    if (comparison.otherLacks === undefined) {
      this.#pieces.delete(piece.id);
      this.#auditors.add(piece.worker);
      this.#isReliable &&= isReliable;
    } else this.cancel(piece);
    return {
      contributor: contribution.worker,
      auditor: piece.worker,
      contributorLacks: comparison.oneLacks,
      auditorLacks: comparison.otherLacks,
      evidence: comparison.evidence,
      range: piece.range,
    };
  }

  /** Takes a part back: its auditor is gone, too slow or wrong. */
  cancel(piece: Piece): void {
    if (!this.#pieces.delete(piece.id)) return;
    this.#left = this.#left.add(piece.range);
    if (this.assignee?.worker === piece.worker) this.assignee = undefined;
  }

  /** The second pass cannot be made: no worker is there for it. The first one is enough then, as without a third worker. */
  dropSecondPass(): void {
    if (!this.#isFirstPass && this.isWaiting && this.#pieces.size === 0) this.#left = Intervals.none;
  }

  /** True if all of it was done again and agreed. `hasOthers` says whether another worker could do it once more. */
  isPassed(hasOthers: () => boolean): boolean {
    if (!this.#left.isEmpty || this.#pieces.size > 0) return false;
    this.assignee = undefined;
    if (this.#isReliable || !this.#isFirstPass || this.isCanary) return true;
    this.#earlier = this.#auditors;
    if (!hasOthers()) return true;
    this.#auditors = new Set();
    this.#isFirstPass = false;
    this.#left = Intervals.of([this.contribution.range]);
    return false;
  }
}

export interface PieceGrant {
  /** Of the lease. */
  readonly id: string;
  readonly worker: Identity;
  /** The process that has it, and the number of its request. */
  readonly holder: string;
  readonly request: number;
  /** Until then something has to come of it, or another worker gets it. */
  readonly deadline: number;
}

/** A part of an audit that a worker has. */
export interface Piece extends PieceGrant {
  deadline: number;
  readonly range: Range;
  readonly collected: Collected;
  readonly audit: Audit;
}

export interface Verdict {
  readonly contributor: Identity;
  readonly auditor: Identity;
  /** An index that it should have reported: the worker is proven wrong. */
  readonly contributorLacks: bigint | undefined;
  readonly auditorLacks: bigint | undefined;
  readonly evidence: number;
  readonly range: Range;
}

/** A worker that is proven wrong. */
export interface Proof {
  readonly worker: Identity;
  readonly reason: string;
}

/** Returns the workers that a verdict proves wrong. */
export const proofsOf = ({ contributor, auditor, contributorLacks, auditorLacks }: Verdict): Proof[] => [
  ...(contributorLacks === undefined ? [] : [{ worker: contributor, reason: leftOut(contributorLacks) }]),
  ...(auditorLacks === undefined ? [] : [{ worker: auditor, reason: leftOut(auditorLacks) }]),
];

const leftOut = (index: bigint): string => `it left out what is at index ${index}`;
