import { minBigint } from '../../../engine/work/space.js';
import { FIRST_LENGTH, type Lease, type LeaseTable, leaseLength, leaseMs, retryMs } from '../../lease/index.js';
import { type Identity, type JobTrust, PROGRESS_MS, witnessBits } from '../../trust/index.js';
import type { JobView, LeaseTokens } from '../events.js';
import type { GrantMessage, JobId, LeaseClaim, NoneMessage, WantMessage, WorkerId } from '../messages.js';
import type { Roster, WorkerRecord } from './roster.js';

/** A job as leases are made of it. */
export interface GrantableJob extends JobView {
  readonly table: LeaseTable;
  readonly refusals: ReadonlyMap<WorkerId, string>;
  readonly trust: JobTrust;
  readonly witnesses: 'graded' | 'fixed' | undefined;
  /** The number of its last lease. */
  lastGrant: number;
}

/** Who a worker is, as far as trust is concerned. */
export interface Trusting {
  identityOf(worker: WorkerId): Identity;
  isOwn(worker: WorkerId): boolean;
}

/** How long the lease of a worker of unknown speed is expected to take. */
export const UNKNOWN_MS = 10_000;

/** Answers requests for work. */
export class Grants {
  readonly #term: number;
  readonly #tokens: LeaseTokens;
  readonly #roster: Roster;
  readonly #jobs: ReadonlyMap<JobId, GrantableJob>;
  readonly #trusting: Trusting;
  #leases = 0;
  #granted = 0;

  constructor(
    term: number,
    tokens: LeaseTokens,
    roster: Roster,
    jobs: ReadonlyMap<JobId, GrantableJob>,
    trusting: Trusting,
  ) {
    this.#term = term;
    this.#tokens = tokens;
    this.#roster = roster;
    this.#jobs = jobs;
    this.#trusting = trusting;
  }

  /** Leases that were granted. */
  get count(): number {
    return this.#granted;
  }

  /**
   * Returns an audit that is for this worker; else the lowest waiting indices of the most important job; if none wait, a part
   * of the slowest lease.
   */
  answer(worker: WorkerRecord, { request, only }: WantMessage, now: number): GrantMessage | NoneMessage {
    if (worker.barred !== undefined || worker.isDraining) return this.none(request, worker.barred);
    const jobs = [...this.#jobs.values()]
      .filter(({ state, refusals }) => state === 'running' && !refusals.has(worker.id))
      .filter(({ name }) => only === undefined || only.includes(name))
      // Of equally important ones the one that has waited longest.
      .sort((a, b) => b.priority - a.priority || a.lastGrant - b.lastGrant);
    for (const make of [this.#audit, this.#lowest, this.#slowest]) {
      for (const job of jobs) {
        const lease = make.call(this, job, worker, request, now);
        if (lease) return this.#grant(job, worker, lease);
      }
    }
    return this.none(request);
  }

  none(request: number, reason?: string): NoneMessage {
    const { beatMs } = this.#roster;
    const why = reason === undefined ? {} : { reason };
    return { kind: 'none', term: this.#term, request, retryMs: retryMs(beatMs), beatMs, ...why };
  }

  #audit(job: GrantableJob, worker: WorkerRecord, request: number, now: number): GrantedLease | undefined {
    if (job.trust.needsAuditors(now)) job.trust.assign(this.auditors(job), now);
    const known = this.#roster.jobOf(worker, job.id);
    const ms = leaseMs(known.leaseMs, this.#roster.all.size, Infinity);
    // It may have to wait for another lease of the worker.
    const deadline = now + PROGRESS_MS + 2 * ms;
    const who = this.#trusting.identityOf(worker.id);
    const grant = { id: this.#leaseId(), worker: who, holder: worker.id, request, deadline };
    const piece = job.trust.take(grant, leaseLength(known.perMs, ms), now);
    if (piece === undefined) return undefined;
    if (known.perMs !== undefined) known.leaseMs = ms;
    const { bits } = piece.audit.contribution;
    return { id: piece.id, range: piece.range, request, bits };
  }

  /** Workers that could audit results of the job. */
  auditors(job: GrantableJob): Identity[] {
    const able = [...this.#roster.all.values()].filter(
      ({ id, barred, isDraining }) => barred === undefined && !isDraining && !job.refusals.has(id),
    );
    return [...new Set(able.map(({ id }) => this.#trusting.identityOf(id)))];
  }

  #lowest(job: GrantableJob, worker: WorkerRecord, request: number, now: number): GrantedLease | undefined {
    const { table, rate } = job;
    if (table.waiting === 0n) return undefined;
    const known = this.#roster.jobOf(worker, job.id);
    const { perMs } = known;
    const { size } = this.#roster.all;
    const ms = leaseMs(known.leaseMs, size, rate > 0 ? Number(table.waiting) / rate : Infinity);
    if (perMs !== undefined) known.leaseMs = ms;
    const wanted = leaseLength(perMs, ms);
    // Rates are the workers' own words: one that is not trusted does not get the whole job.
    const length = this.#trusting.isOwn(worker.id) ? wanted : minBigint(wanted, table.waiting / BigInt(2 * size) + 1n);
    const expectedEnd = now + (perMs === undefined ? UNKNOWN_MS : Number(length) / perMs);
    const lease = table.grant({ id: this.#leaseId(), worker: worker.id, request, expectedEnd }, length);
    return lease && this.#withBits(job, worker, lease);
  }

  #slowest(job: GrantableJob, worker: WorkerRecord, request: number, now: number): GrantedLease | undefined {
    const perMs = worker.jobs.get(job.id)?.perMs ?? Number(FIRST_LENGTH) / UNKNOWN_MS;
    const length = leaseLength(perMs, leaseMs(undefined, 1, Infinity));
    const lease = job.table.share({ id: this.#leaseId(), worker: worker.id, request }, length, perMs, now);
    return lease && this.#withBits(job, worker, lease);
  }

  /** Asks for witnesses if the worker is not trusted. */
  #withBits(job: GrantableJob, worker: WorkerRecord, lease: Lease): GrantedLease {
    if (job.witnesses === undefined || this.#trusting.isOwn(worker.id)) return { ...lease, bits: undefined };
    if (job.witnesses === 'fixed') return { ...lease, bits: 0 };
    const known = this.#roster.jobOf(worker, job.id);
    known.bits = witnessBits(known.perMs, known.perMs === undefined ? undefined : known.bits);
    return { ...lease, bits: known.bits };
  }

  #grant(job: GrantableJob, worker: WorkerRecord, { id, range, request, bits }: GrantedLease): GrantMessage {
    this.#granted++;
    job.lastGrant = this.#leases;
    const perMs = worker.jobs.get(job.id)?.perMs;
    const claim: LeaseClaim = { job: job.id, id, range, ...(bits !== undefined && { bits }) };
    return {
      kind: 'grant',
      term: this.#term,
      request,
      claim,
      token: this.#tokens.make(worker.id, claim),
      ms: perMs === undefined ? UNKNOWN_MS : Number(range.length) / perMs,
      beatMs: this.#roster.beatMs,
    };
  }

  /** Unique in the fleet: no two coordinators have one term. */
  #leaseId(): string {
    return `${this.#term}.${++this.#leases}`;
  }
}

type GrantedLease = Pick<Lease, 'id' | 'range' | 'request'> & { readonly bits: number | undefined };
