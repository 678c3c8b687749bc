import { FIRST_LENGTH, type Lease, type LeaseTable, leaseLength, leaseMs, retryMs } from '../lease/index.js';
import type { JobView, LeaseTokens } from './events.js';
import type { GrantMessage, JobId, LeaseClaim, NoneMessage, WantMessage, WorkerId } from './messages.js';
import type { Roster, WorkerRecord } from './roster.js';

/** A job as leases are made of it. */
export interface GrantableJob extends JobView {
  readonly priority: number;
  readonly table: LeaseTable;
  readonly refusals: ReadonlyMap<WorkerId, string>;
  /** The number of its last lease. */
  lastGrant: number;
}

/** How long the lease of a worker of unknown speed is expected to take. */
export const UNKNOWN_MS = 10_000;

/** Answers requests for work. */
export class Grants {
  readonly #term: number;
  readonly #tokens: LeaseTokens;
  readonly #roster: Roster;
  readonly #jobs: ReadonlyMap<JobId, GrantableJob>;
  #leases = 0;

  constructor(term: number, tokens: LeaseTokens, roster: Roster, jobs: ReadonlyMap<JobId, GrantableJob>) {
    this.#term = term;
    this.#tokens = tokens;
    this.#roster = roster;
    this.#jobs = jobs;
  }

  /** Returns the lowest waiting indices of the most important job; if none wait, a part of the slowest lease. */
  answer(worker: WorkerRecord, { request, only }: WantMessage, now: number): GrantMessage | NoneMessage {
    if (worker.barred !== undefined || worker.isDraining) return this.none(request, worker.barred);
    const jobs = [...this.#jobs.values()]
      .filter(({ state, refusals }) => state === 'running' && !refusals.has(worker.id))
      .filter(({ name }) => only === undefined || only.includes(name))
      // Of equally important ones the one that has waited longest.
      .sort((a, b) => b.priority - a.priority || a.lastGrant - b.lastGrant);
    for (const make of [this.#lowest, this.#slowest]) {
      for (const job of jobs) {
        const lease = make.call(this, job, worker, request, now);
        if (lease) return this.#granted(job, worker, lease);
      }
    }
    return this.none(request);
  }

  none(request: number, reason?: string): NoneMessage {
    const { beatMs } = this.#roster;
    const why = reason === undefined ? {} : { reason };
    return { kind: 'none', term: this.#term, request, retryMs: retryMs(beatMs), beatMs, ...why };
  }

  #lowest(job: GrantableJob, worker: WorkerRecord, request: number, now: number): Lease | undefined {
    const { table, rate } = job;
    if (table.waiting === 0n) return undefined;
    const known = this.#roster.jobOf(worker, job.id);
    const { perMs } = known;
    const ms = leaseMs(known.leaseMs, this.#roster.all.size, rate > 0 ? Number(table.waiting) / rate : Infinity);
    if (perMs !== undefined) known.leaseMs = ms;
    const length = leaseLength(perMs, ms);
    const expectedEnd = now + (perMs === undefined ? UNKNOWN_MS : Number(length) / perMs);
    return table.grant({ id: this.#leaseId(), worker: worker.id, request, expectedEnd }, length);
  }

  #slowest(job: GrantableJob, worker: WorkerRecord, request: number, now: number): Lease | undefined {
    const perMs = worker.jobs.get(job.id)?.perMs ?? Number(FIRST_LENGTH) / UNKNOWN_MS;
    const length = leaseLength(perMs, leaseMs(undefined, 1, Infinity));
    return job.table.share({ id: this.#leaseId(), worker: worker.id, request }, length, perMs, now);
  }

  #granted(job: GrantableJob, worker: WorkerRecord, { id, range, request }: Lease): GrantMessage {
    job.lastGrant = this.#leases;
    const perMs = worker.jobs.get(job.id)?.perMs;
    const claim: LeaseClaim = { job: job.id, id, range };
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
