import { minBigint } from '../../../engine/work/space.js';
import type { AddedJob, JobOutcome } from '../events.js';
import type { JobId, RunState, WorkerId } from '../messages.js';
import type { Commits } from './commits.js';
import { closeJob } from './contribution.js';
import { type JobRecord, newJobRecord, stateOf } from './job-record.js';
import type { CoordinatorState } from './state.js';
import { PAUSED, PRIORITY } from './state-keys.js';

/** The life of jobs: they are added, paused and resumed, lose leases, and end. */
export class Jobs {
  readonly #state: CoordinatorState;
  readonly #commits: Commits;
  readonly #random: () => number;
  #written = 0;
  #commitMs: number | undefined;

  constructor(state: CoordinatorState, commits: Commits, random: () => number) {
    this.#state = state;
    this.#commits = commits;
    this.#random = random;
  }

  /** Commits that are in the ledger, and how long results of the last one took. */
  get counts(): { readonly commits: number; readonly commitMs: number | undefined } {
    return { commits: this.#written, commitMs: this.#commitMs };
  }

  add(added: AddedJob): void {
    const job = newJobRecord(added, this.#state.standings, this.#random);
    const { mode, table, trust, hasHit } = job;
    this.#state.jobs.set(job.id, job);
    if (mode !== 'any' || !hasHit) this.#commits.reopen(job);
    const isAnswered = hasHit && (mode === 'any' || (mode === 'first' && table.isComplete));
    if ((table.isComplete && trust.isSettled) || (isAnswered && mode === 'any')) {
      this.#end(job, isAnswered ? 'answered' : 'complete');
      return;
    }
    this.#tell(job);
    this.#commits.settle(job);
  }

  control(id: JobId, state: RunState): void {
    const job = this.#state.jobs.get(id);
    if (job === undefined) return;
    if (state === 'ended') this.#end(job, 'cancelled');
    else {
      const isNew = job.state !== state;
      job.state = state;
      this.#tell(job);
      if (isNew) this.#commits.store(job, PAUSED, state === 'paused' ? true : undefined);
    }
  }

  setPriority(id: JobId, priority: number): void {
    const job = this.#state.jobs.get(id);
    if (job === undefined) return;
    job.priority = priority;
    this.#commits.store(job, PRIORITY, priority);
  }

  /** Commits what has settled because no worker is left that could audit it once more. */
  settle(): void {
    for (const job of this.#state.jobs.values()) if (job.trust.hasSettled) this.#commits.settle(job);
  }

  /** A worker cannot run the job. */
  refuse(id: JobId, worker: WorkerId, reason: string): void {
    const { jobs, output } = this.#state;
    const job = jobs.get(id);
    if (job === undefined) return;
    output.noteChange();
    job.refusals.set(worker, reason);
    this.releaseWorker(job, worker);
    output.push({ kind: 'refused', job: id, worker, reason });
  }

  /** What is left of a lease waits again. */
  release(job: JobRecord, lease: string): void {
    this.#state.output.noteChange();
    job.table.release(lease);
    job.trust.close(lease);
  }

  releaseWorker(job: JobRecord, worker: WorkerId): void {
    for (const { id } of job.table.leasesOf(worker)) this.release(job, id);
    job.trust.forget(this.#state.trusting.identityOf(worker));
    this.#commits.settle(job);
  }

  /** The last commit is in the ledger: confirms its results, and ends jobs that have all of theirs. */
  committed(): void {
    const { output, jobs } = this.#state;
    const { queue } = this.#commits;
    const results = queue.finish();
    const numbers = new Map<WorkerId, number[]>();
    const hitJobs = new Map<JobRecord, bigint>();
    if (results.length > 0) {
      this.#written++;
      this.#commitMs = results.reduce((most, { arrivedAt }) => Math.max(most, output.now - arrivedAt), 0);
    }
    for (const { worker, number, job: id, hits, early, overtaken } of results) {
      const own = numbers.get(worker);
      if (number === undefined) {
        // It was confirmed when it came in.
      } else if (own) own.push(number);
      else numbers.set(worker, [number]);
      const job = jobs.get(id);
      if (job === undefined) continue;
      job.hasHit ||= hits.length + early.length > 0;
      for (const { index } of [...hits, ...early]) hitJobs.set(job, minBigint(index, hitJobs.get(job) ?? index));
      for (const { lease, range } of overtaken)
        output.send(lease.worker, { kind: 'drop', term: output.term, job: id, range });
    }
    for (const [worker, own] of numbers) output.confirm(worker, own);
    output.push({ kind: 'acknowledge', receipts: results.flatMap(({ receipts }) => receipts) });
    for (const [job, index] of hitJobs) {
      if (job.mode === 'any') this.#end(job, 'answered');
      if (job.mode === 'first' && index + 1n < job.table.end) this.#shorten(job, index + 1n);
    }
    for (const id of new Set(results.map(({ job }) => job))) {
      const job = jobs.get(id);
      if (job === undefined || !job.table.isComplete || !job.trust.isSettled || queue.has(id)) continue;
      this.#end(job, job.mode === 'first' && job.hasHit ? 'answered' : 'complete');
    }
    this.#commits.next();
  }

  /** Indices from `end` on are not needed. */
  #shorten(job: JobRecord, end: bigint): void {
    job.table.dropFrom(end);
    job.trust.dropFrom(end);
    job.trust.sweep((id) => job.table.get(id) !== undefined);
    this.#commits.settle(job);
    this.#tell(job);
  }

  #end(job: JobRecord, outcome: JobOutcome): void {
    const { jobs, roster, output } = this.#state;
    job.state = 'ended';
    jobs.delete(job.id);
    for (const worker of roster.all.values()) closeJob(worker, job.id, job.work);
    this.#tell(job);
    output.push({ kind: 'ended', job: job.id, outcome });
  }

  #tell(job: JobRecord): void {
    const { output } = this.#state;
    output.broadcast({ kind: 'job', term: output.term, state: stateOf(job) });
  }
}
