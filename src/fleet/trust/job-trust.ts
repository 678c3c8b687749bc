import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, minBigint, type Range } from '../../engine/work/space.js';
import { type Audit, type Piece, type PieceGrant, type Proof, proofsOf, type Verdict } from './audit.js';
import { Audits } from './audits.js';
import { Canaries } from './canaries.js';
import { Collected, type Contribution, partOf, type Report } from './contribution.js';
import { Densities } from './densities.js';
import { EPOCH_EVIDENCE, sample } from './sampling.js';
import type { Identity, Standings } from './standing.js';
import {
  AUDITED,
  partKey,
  plainContribution,
  readContribution,
  type StoredChanges,
  type StoredValues,
  storedUnder,
} from './stored.js';

/**
 * What workers that are not trusted have done of a job, until it counts. A contribution of a new worker is settled when it
 * was audited; those of a trusted one in epochs, by a sample. A worker that is proven wrong loses all that is not settled:
 * it is done again. The ledger sees settled work only.
 */
export class JobTrust {
  readonly #standings: Standings;
  readonly #random: () => number;
  readonly #audits: Audits;
  /** Workers that could audit, when that was last told. */
  #candidates: readonly Identity[] = [];
  readonly #open = new Map<string, OpenLease>();
  readonly #epochs = new Map<Identity, Contribution[]>();
  readonly #batches = new Set<Batch>();
  readonly #batchOf = new Map<Audit, Batch>();
  readonly #densities = new Densities();
  readonly #canaries: Canaries;
  #settled: Contribution[] = [];
  #agreements: WorkerRange[] = [];
  #end: bigint;
  #auditedIndices = 0n;
  /** What is to be stored with the next commit. */
  #changes: StoredChanges = new Map();

  constructor(standings: Standings, random: () => number, end: bigint) {
    this.#standings = standings;
    this.#random = random;
    this.#audits = new Audits(standings, random);
    this.#canaries = new Canaries(random);
    this.#end = end;
  }

  /** True if nothing waits for an audit. */
  get isSettled(): boolean {
    return this.#open.size + this.#epochs.size + this.#batches.size + this.#settled.length === 0;
  }

  /** Indices that were given out for audits and canaries. */
  get auditedIndices(): bigint {
    return this.#auditedIndices;
  }

  /** Indices that are done and not settled. */
  get unsettled(): bigint {
    let sum = 0n;
    for (const { length } of this.#unsettled()) sum += length;
    return sum;
  }

  /** The same as ranges. */
  get unsettledRanges(): Intervals {
    return Intervals.of(this.#unsettled());
  }

  *#unsettled(): Generator<Range> {
    for (const { collected } of this.#open.values()) yield* collected.done;
    for (const epoch of this.#epochs.values()) for (const { range } of epoch) yield range;
    for (const { contributions } of this.#batches) for (const { range } of contributions) yield range;
  }

  /**
   * Takes up what an earlier coordinator has stored. Contributions are audited as if they had just come in: their audits may
   * have been under way. Returns those, without what the ledger has counted meanwhile.
   */
  restore(stored: StoredValues, counted: Intervals): Range[] {
    this.#densities.restore(stored);
    this.#canaries.restore(stored);
    this.#auditedIndices = BigInt(String(stored.get(AUDITED) ?? 0));
    const restored: Contribution[] = [];
    for (const [start, value] of storedUnder(stored, 'part')) {
      const whole = readContribution(value);
      this.#changes.set(`part.${start}`, undefined);
      const isNeeded = this.#standings.of(whole.worker) !== 'barred' && whole.range.start < this.#end;
      const missing = isNeeded
        ? counted.missing(between(whole.range.start, minBigint(endOf(whole.range), this.#end)))
        : [];
      for (const range of missing) restored.push(partOf(whole, range));
    }
    for (const one of restored) {
      this.#changes.set(partKey(one), plainContribution(one));
      this.#setEpoch(one.worker, [...(this.#epochs.get(one.worker) ?? []), one]);
    }
    for (const worker of [...this.#epochs.keys()]) this.#consider(worker);
    return restored.map(({ range }) => range);
  }

  /** Returns what has to be stored, since the last call. */
  takeChanges(): StoredChanges {
    const changes = this.#changes;
    this.#changes = new Map();
    return changes;
  }

  get hasChanges(): boolean {
    return this.#changes.size > 0;
  }

  /** Adds what a lease has brought. `isOver` if nothing more will come of it. */
  add({ id, worker, bits }: TrustLease, report: Report, isOver: boolean): void {
    const lease = this.#open.get(id) ?? { worker, bits, collected: new Collected() };
    this.#open.set(id, lease);
    lease.collected.add(report);
    if (isOver) this.#close(id, lease);
  }

  /** Nothing more will come of the lease. */
  close(id: string): void {
    const lease = this.#open.get(id);
    if (lease) this.#close(id, lease);
  }

  /** The same for all leases that are over. */
  sweep(isLive: (id: string) => boolean): void {
    for (const id of [...this.#open.keys()]) if (!isLive(id)) this.close(id);
  }

  /** No more work will come soon: what is there is audited now. */
  flush(): void {
    for (const worker of [...this.#epochs.keys()]) this.#startBatch(worker);
  }

  /** Draws auditors among these workers, which are connected and can run the job. */
  assign(candidates: readonly Identity[], now: number): void {
    this.#candidates = candidates;
    for (const audit of this.#audits.assign(candidates, now)) {
      audit.dropSecondPass();
      if (!audit.isWaiting) this.#pass(audit);
    }
  }

  /** True if something is done that none of these workers could audit. */
  lacksAuditor(candidates: () => readonly Identity[]): boolean {
    return this.#audits.lacksAuditor(candidates);
  }

  needsAuditors(now: number): boolean {
    return this.#audits.isDue(now);
  }

  /** Returns a part of an audit that is for this worker; for a new worker sometimes a canary. */
  take(grant: PieceGrant, length: bigint, now: number): Piece | undefined {
    const piece = this.#audits.take(grant, length) ?? this.#takeCanary(grant, length, now);
    if (piece === undefined) return undefined;
    this.#auditedIndices += piece.range.length;
    this.#changes.set(AUDITED, String(this.#auditedIndices));
    return piece;
  }

  piece(id: string): Piece | undefined {
    return this.#audits.piece(id);
  }

  piecesOf(worker: Identity): readonly Piece[] {
    return this.#audits.piecesOf(worker);
  }

  cancel(piece: Piece): void {
    this.#audits.cancel(piece);
  }

  /** Takes an auditor's report. Returns the workers that it proves wrong. */
  audited(piece: Piece, report: Report, now: number): Proof[] {
    piece.deadline = now + PROGRESS_MS;
    const verdict = piece.audit.report(piece, report, this.#standings.isReliable(piece.worker));
    if (verdict === undefined) return [];
    this.#audits.finish(piece);
    if (piece.audit.isCanary) this.#audits.remove(piece.audit);
    const proofs = proofsOf(verdict);
    if (proofs.length === 0) this.#agreed(piece, verdict);
    return proofs;
  }

  /** The worker is gone: others do its audits. */
  forget(worker: Identity): void {
    this.#audits.forget(worker);
  }

  /** Forgets what a worker has done, unless it is settled. Returns the ranges that are to be done again. */
  revoke(worker: Identity): Range[] {
    const ranges: Range[] = [];
    for (const [id, lease] of this.#open) {
      if (lease.worker !== worker) continue;
      ranges.push(...lease.collected.done);
      this.#open.delete(id);
    }
    const revoked = [...(this.#epochs.get(worker) ?? [])];
    this.#epochs.delete(worker);
    for (const batch of this.#batches) {
      if (batch.worker !== worker) continue;
      revoked.push(...batch.contributions);
      this.#dropBatch(batch);
    }
    for (const one of revoked) this.#forgetPart(one);
    ranges.push(...revoked.map(({ range }) => range));
    this.#canaries.forget(worker, this.#changes);
    this.#audits.forget(worker);
    return ranges;
  }

  /** Indices from `end` on are not needed. */
  dropFrom(end: bigint): void {
    this.#end = minBigint(this.#end, end);
    const isNeeded = (one: Contribution): boolean => {
      if (one.range.start < this.#end) return true;
      this.#forgetPart(one);
      return false;
    };
    for (const [worker, epoch] of this.#epochs) this.#setEpoch(worker, epoch.filter(isNeeded));
    for (const batch of this.#batches) {
      batch.contributions = batch.contributions.filter(isNeeded);
      for (const audit of batch.audits) if (!isNeeded(audit.contribution)) this.#endAudit(audit, batch);
    }
  }

  /** Returns which workers have done ranges of others again and agreed, since the last call. */
  takeAgreements(): WorkerRange[] {
    const agreements = this.#agreements;
    this.#agreements = [];
    return agreements;
  }

  /** True if `takeSettled` has something. */
  get hasSettled(): boolean {
    return this.#settled.length > 0;
  }

  /** Returns what counts from now on. */
  takeSettled(): Contribution[] {
    const settled = this.#settled;
    this.#settled = [];
    return settled;
  }

  #close(id: string, { worker, bits, collected }: OpenLease): void {
    this.#open.delete(id);
    const added: Contribution[] = [];
    for (const { start, length } of collected.done) {
      const range = between(start, minBigint(start + length, this.#end));
      if (range.length > 0n) added.push({ worker, bits, range, ...collected.within(range) });
    }
    for (const one of added) this.#changes.set(partKey(one), plainContribution(one));
    this.#setEpoch(worker, [...(this.#epochs.get(worker) ?? []), ...added]);
    this.#consider(worker);
  }

  #setEpoch(worker: Identity, epoch: Contribution[]): void {
    if (epoch.length > 0) this.#epochs.set(worker, epoch);
    else this.#epochs.delete(worker);
  }

  #consider(worker: Identity): void {
    const epoch = this.#epochs.get(worker);
    if (epoch === undefined) return;
    const standing = this.#standings.of(worker);
    if (standing === 'own') {
      this.#settle(epoch);
      this.#epochs.delete(worker);
    } else if (standing === 'new') this.#startBatch(worker);
    else if (epoch.reduce((sum, one) => sum + this.#densities.measure(one).expected, 0) >= EPOCH_EVIDENCE)
      this.#startBatch(worker);
  }

  #startBatch(worker: Identity): void {
    const epoch = this.#epochs.get(worker) ?? [];
    this.#epochs.delete(worker);
    if (this.#standings.of(worker) === 'new') for (const one of epoch) this.#addBatch(worker, [one], [one]);
    else {
      const chosen = sample(
        epoch.map((one) => this.#densities.measure(one)),
        this.#random,
      );
      this.#addBatch(
        worker,
        epoch,
        epoch.filter((_, at) => chosen.has(at)),
      );
    }
  }

  #addBatch(worker: Identity, contributions: Contribution[], audited: readonly Contribution[]): void {
    const batch: Batch = { worker, contributions, audits: new Set(audited.map((one) => this.#audits.add(one))) };
    this.#batches.add(batch);
    for (const audit of batch.audits) this.#batchOf.set(audit, batch);
  }

  #agreed({ audit, range }: Piece, { contributor, auditor, evidence }: Verdict): void {
    const { contribution } = audit;
    if (!audit.isCanary) this.#agreements.push({ worker: auditor, range });
    this.#densities.add(contribution.bits, evidence, Number(range.length), this.#changes);
    const wereTrusted = [contributor, auditor].map((worker) => this.#standings.isReliable(worker));
    this.#standings.agree(contributor, auditor, evidence);
    this.#pass(audit);
    if (!wereTrusted[0] && this.#standings.isReliable(contributor)) this.#regroup(contributor);
    if (!wereTrusted[1] && this.#standings.isReliable(auditor)) this.#regroup(auditor);
  }

  /** The worker is trusted from now on: of what no worker has begun to audit, a sample is enough. */
  #regroup(worker: Identity): void {
    const epoch = [...(this.#epochs.get(worker) ?? [])];
    for (const batch of this.#batches) {
      if (batch.worker !== worker || [...batch.audits].some(({ hasBegun }) => hasBegun)) continue;
      this.#dropBatch(batch);
      epoch.push(...batch.contributions);
    }
    this.#setEpoch(worker, epoch);
    this.#consider(worker);
  }

  /** Ends an audit that has passed, and its batch with the last one. */
  #pass(audit: Audit): void {
    if (!audit.isPassed(() => this.#audits.hasAuditor(audit, this.#candidates))) {
      // It may need another pass, with another auditor.
      this.#audits.place(audit);
      return;
    }
    const batch = this.#batchOf.get(audit);
    this.#audits.remove(audit);
    if (batch === undefined) return;
    if (this.#standings.isReliable(audit.contribution.worker)) this.#canaries.add(audit.contribution, this.#changes);
    this.#endAudit(audit, batch);
  }

  /** With its last audit a batch is settled. */
  #endAudit(audit: Audit, batch: Batch): void {
    this.#audits.remove(audit);
    this.#batchOf.delete(audit);
    batch.audits.delete(audit);
    if (batch.audits.size > 0 || !this.#batches.delete(batch)) return;
    this.#settle(batch.contributions);
  }

  #settle(contributions: readonly Contribution[]): void {
    this.#settled.push(...contributions);
    for (const one of contributions) this.#forgetPart(one);
  }

  #forgetPart(one: Contribution): void {
    this.#changes.set(partKey(one), undefined);
  }

  /** Ends a batch that is not settled. */
  #dropBatch(batch: Batch): void {
    this.#batches.delete(batch);
    for (const audit of batch.audits) this.#endAudit(audit, batch);
  }

  /** A range whose witnesses are known. To the worker it is a range like any other. */
  #takeCanary(grant: PieceGrant, length: bigint, now: number): Piece | undefined {
    const { worker } = grant;
    if (this.#standings.of(worker) !== 'new') return undefined;
    const canary = this.#canaries.draw(worker, length);
    if (canary === undefined) return undefined;
    this.#audits.addCanary(canary, worker, now);
    return this.#audits.take(grant, length);
  }
}

/** A lease as far as trust is concerned. */
export interface TrustLease {
  readonly id: string;
  readonly worker: Identity;
  readonly bits: number | undefined;
}

export interface WorkerRange {
  readonly worker: Identity;
  readonly range: Range;
}

interface OpenLease {
  readonly worker: Identity;
  readonly bits: number | undefined;
  readonly collected: Collected;
}

/** Contributions that are settled together, when their audits have passed. */
interface Batch {
  readonly worker: Identity;
  contributions: Contribution[];
  readonly audits: Set<Audit>;
}

/** After this long without anything from an auditor its part goes to another. */
export const PROGRESS_MS = 90_000;
