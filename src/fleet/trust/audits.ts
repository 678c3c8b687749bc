import { Audit, type Piece, type PieceGrant } from './audit.js';
import type { Contribution } from './contribution.js';
import type { Identity, Standings } from './standing.js';

/** The audits of a job, and who is to do them: drawn by lot, so that a liar cannot choose whom it audits. */
export class Audits {
  readonly #standings: Standings;
  readonly #random: () => number;
  readonly #waiting = new Set<Audit>();
  /** Who is to do an audit, the longest assigned first; and the same by worker. */
  readonly #assignees = new Map<Audit, Identity>();
  readonly #assigned = new Map<Identity, Set<Audit>>();
  readonly #pieces = new Map<string, Piece>();
  #expireAt = 0;

  constructor(standings: Standings, random: () => number) {
    this.#standings = standings;
    this.#random = random;
  }

  /** True if auditors may be needed. */
  isDue(now: number): boolean {
    return this.#waiting.size > 0 || (now >= this.#expireAt && this.#assignees.size > 0);
  }

  piece(id: string): Piece | undefined {
    return this.#pieces.get(id);
  }

  piecesOf(worker: Identity): Piece[] {
    const own = [...(this.#assigned.get(worker) ?? [])];
    return own.flatMap((audit) => [...audit.pieces]).filter((piece) => piece.worker === worker);
  }

  add(contribution: Contribution): Audit {
    const audit = new Audit(contribution);
    this.#waiting.add(audit);
    return audit;
  }

  /** Draws an auditor for each audit that needs one. Returns those that no worker can do. */
  assign(candidates: readonly Identity[], now: number): Audit[] {
    this.#expire(now);
    const left: Audit[] = [];
    for (const audit of this.#waiting) {
      const worker = this.#draw(audit, candidates);
      if (worker === undefined) left.push(audit);
      else this.#assign(audit, worker, now);
    }
    return left;
  }

  /** Gives a canary to a worker that asks for work. */
  addCanary(known: Contribution, worker: Identity, now: number): void {
    this.#assign(new Audit(known, true), worker, now);
  }

  /** Returns the next part of the worker's audits, at most `length` indices. */
  take(grant: PieceGrant, length: bigint): Piece | undefined {
    for (const audit of this.#assigned.get(grant.worker) ?? []) {
      const piece = audit.take(grant, length);
      if (piece === undefined) continue;
      this.#pieces.set(piece.id, piece);
      return piece;
    }
    return undefined;
  }

  /** A part is done. Its worker continues with what is left. */
  finish(piece: Piece): void {
    this.#pieces.delete(piece.id);
    this.place(piece.audit);
  }

  cancel(piece: Piece): void {
    piece.audit.cancel(piece);
    this.finish(piece);
  }

  /** The worker is gone. */
  forget(worker: Identity): void {
    for (const piece of this.piecesOf(worker)) this.cancel(piece);
    for (const audit of this.#assigned.get(worker) ?? []) {
      audit.assignee = undefined;
      this.place(audit);
    }
  }

  /** The audit is over, or not needed. */
  remove(audit: Audit): void {
    for (const piece of audit.pieces) this.#pieces.delete(piece.id);
    audit.assignee = undefined;
    this.#unassign(audit);
    this.#waiting.delete(audit);
  }

  /** Puts an audit where it belongs after its assignee may have changed. */
  place(audit: Audit): void {
    if (audit.assignee !== undefined) return;
    this.#unassign(audit);
    if (audit.isWaiting && !audit.isCanary) this.#waiting.add(audit);
  }

  /** True if an audit waits that none of these workers could do. */
  lacksAuditor(candidatesNow: () => readonly Identity[]): boolean {
    if (this.#waiting.size === 0) return false;
    const candidates = candidatesNow();
    for (const audit of this.#waiting) if (!this.hasAuditor(audit, candidates)) return true;
    return false;
  }

  /** True if a worker could do the audit. */
  hasAuditor(audit: Audit, candidates: readonly Identity[]): boolean {
    return candidates.some((worker) => this.#canDo(audit, worker));
  }

  #canDo(audit: Audit, worker: Identity): boolean {
    return audit.canBeDoneBy(worker) && this.#standings.of(worker) !== 'barred';
  }

  #draw(audit: Audit, candidates: readonly Identity[]): Identity | undefined {
    const able = candidates.filter((worker) => this.#canDo(audit, worker));
    const reliable = able.filter((worker) => this.#standings.isReliable(worker));
    // Of one or two reliable ones too much would be asked.
    const drawn = reliable.length >= MIN_RELIABLE ? reliable : able;
    return drawn[Math.floor(this.#random() * drawn.length)];
  }

  #assign(audit: Audit, worker: Identity, at: number): void {
    audit.assignee = { worker, at };
    this.#waiting.delete(audit);
    this.#assignees.set(audit, worker);
    const own = this.#assigned.get(worker);
    if (own) own.add(audit);
    else this.#assigned.set(worker, new Set([audit]));
  }

  #unassign(audit: Audit): void {
    const worker = this.#assignees.get(audit);
    if (worker === undefined) return;
    this.#assignees.delete(audit);
    const own = this.#assigned.get(worker);
    own?.delete(audit);
    if (own?.size === 0) this.#assigned.delete(worker);
  }

  /** Takes audits from workers that do not come for them, or from which nothing comes. */
  #expire(now: number): void {
    if (now < this.#expireAt) return;
    this.#expireAt = now + EXPIRE_MS;
    for (const piece of this.#pieces.values()) if (piece.deadline < now) this.cancel(piece);
    for (const [audit, worker] of this.#assignees) {
      if ((audit.assignee?.at ?? 0) + ASSIGNED_MS > now) return;
      const isIdle = [...audit.pieces].length === 0;
      audit.assignee = undefined;
      this.place(audit);
      // A worker that has a part of it has a deadline for that.
      if (!isIdle) this.#assign(audit, worker, now);
    }
  }
}

const MIN_RELIABLE = 3;
/** Workers ask for work about every 20 s. */
const ASSIGNED_MS = 60_000;
const EXPIRE_MS = 5_000;
