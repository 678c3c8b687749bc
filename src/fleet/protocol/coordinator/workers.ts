import type {
  BeatMessage,
  DeviceReport,
  JobId,
  JobRate,
  JobState,
  LeaseClaim,
  WantMessage,
  WorkerId,
  WorkerMessage,
} from '../messages.js';
import { type Grants, UNKNOWN_MS } from './grants.js';
import { type JobRecord, stateOf } from './job-record.js';
import type { Jobs } from './jobs.js';
import type { WorkerRecord } from './roster.js';
import type { CoordinatorState } from './state.js';

/** Workers as they come, ask for work, tell what they hold, and leave. */
export class Workers {
  readonly #state: CoordinatorState;
  readonly #grants: Grants;
  readonly #jobs: Jobs;
  /** Until then no leases: workers still announce what they hold. */
  readonly #adoptUntil: number;

  constructor(state: CoordinatorState, grants: Grants, jobs: Jobs, adoptUntil: number) {
    this.#state = state;
    this.#grants = grants;
    this.#jobs = jobs;
    this.#adoptUntil = adoptUntil;
  }

  /** Answers a request for work. */
  want(message: Sent<WantMessage>): void {
    const { output, standings, trusting } = this.#state;
    const worker = this.#meet(message.worker, message.version);
    if (message.request < worker.request) return;
    if (standings.of(trusting.identityOf(worker.id)) === 'barred') worker.barred ??= 'its results were wrong';
    if (message.request > worker.request || worker.reply === undefined) {
      this.#setRates(worker, message.rates);
      worker.request = message.request;
      const isEarly = output.now < this.#adoptUntil;
      worker.reply = isEarly ? this.#grants.none(message.request) : this.#grants.answer(worker, message, output.now);
      this.#jobs.settle();
    }
    if (worker.reply.kind === 'grant') output.noteChange();
    output.send(worker.id, worker.reply);
  }

  /** Takes a heartbeat: compares the leases that the worker holds with those that are known. */
  beat({ worker: id, version, answered, rates, leases, devices = [] }: Sent<BeatMessage>): void {
    const { output, jobs: all, roster, trusting } = this.#state;
    const worker = this.#meet(id, version);
    this.#setRates(worker, rates);
    if (!isSameReport(worker.devices, devices)) output.noteChange();
    worker.devices = devices;
    const lost: string[] = [];
    const listed = new Set<string>();
    const jobs = new Map<JobId, JobState>();
    for (const report of leases) {
      const job = all.get(report.job);
      jobs.set(report.job, job ? stateOf(job) : { job: report.job, state: 'ended', end: 0n });
      if (job === undefined) continue;
      if (job.trust.piece(report.id)?.holder === id) {
        listed.add(report.id);
        continue;
      }
      const perMs = worker.jobs.get(job.id)?.perMs;
      const known = job.table.get(report.id);
      // Without a rate nothing is known but how long it has taken so far.
      const elapsed = known && perMs === undefined ? output.now - worker.since : 0;
      const expectedEnd = output.now + (perMs ? Number(report.left) / perMs : UNKNOWN_MS + 2 * elapsed);
      if (known?.worker === id) job.table.expect(report.id, expectedEnd);
      else if (known || !this.#adopt(job, worker, report, report.token, expectedEnd)) {
        if (report.left > 0n) lost.push(report.id);
        continue;
      }
      listed.add(report.id);
    }
    // What the worker does not list is committed, dropped or was never received, unless its grant is still on its way.
    const isLost = (lease: { readonly id: string; readonly request: number }): boolean =>
      lease.request <= answered && !listed.has(lease.id);
    for (const job of all.values()) {
      for (const lease of job.table.leasesOf(id)) if (isLost(lease)) this.#jobs.release(job, lease.id);
      for (const piece of job.trust.piecesOf(trusting.identityOf(id)))
        if (piece.holder === id && isLost(piece)) job.trust.cancel(piece);
    }
    output.send(id, {
      kind: 'state',
      term: output.term,
      beatMs: roster.beatMs,
      jobs: [...jobs.values()],
      lost,
      isDraining: worker.isDraining,
    });
  }

  /** Gives the worker no more leases. */
  drain(id: WorkerId): void {
    const worker = this.#state.roster.all.get(id);
    if (worker) worker.isDraining = true;
  }

  /** Removes workers that were silent for too long. */
  lapse(): void {
    const { roster, output } = this.#state;
    for (const id of roster.lapsed(output.now)) this.remove(id, 'silent');
  }

  /** What the worker holds waits again. */
  remove(id: WorkerId, reason: string): void {
    const { roster, output, jobs } = this.#state;
    const worker = roster.remove(id, output.now, reason);
    if (worker === undefined) return;
    output.noteChange();
    for (const job of jobs.values()) this.#jobs.releaseWorker(job, id);
    for (const [job, { perMs = 0, done }] of worker.jobs) {
      this.#addRate(job, -perMs);
      const work = jobs.get(job)?.work;
      if (work) work.leftIndices += done;
    }
  }

  /** Returns a worker whose message has arrived. */
  #meet(id: WorkerId, version: number | undefined): WorkerRecord {
    const { roster, output } = this.#state;
    if (!roster.all.has(id)) output.noteChange();
    const worker = roster.meet(id, output.now);
    worker.version = version;
    return worker;
  }

  #adopt(job: JobRecord, worker: WorkerRecord, claim: LeaseClaim, token: string, expectedEnd: number): boolean {
    const { tokens, output } = this.#state;
    if (!tokens.isValid(worker.id, claim, token)) return false;
    const grant = { id: claim.id, worker: worker.id, request: 0, expectedEnd };
    output.noteChange();
    return job.table.adopt(grant, claim.range) !== undefined;
  }

  #setRates(worker: WorkerRecord, rates: readonly JobRate[]): void {
    const { jobs, roster, output } = this.#state;
    for (const { job, perMs } of rates) {
      if (!jobs.has(job)) continue;
      const known = roster.jobOf(worker, job);
      if (known.perMs === perMs) continue;
      output.noteChange();
      this.#addRate(job, perMs - (known.perMs ?? 0));
      known.perMs = perMs;
    }
  }

  #addRate(id: JobId, perMs: number): void {
    const job = this.#state.jobs.get(id);
    if (job) job.rate = Math.max(0, job.rate + perMs);
  }
}

type Sent<M extends WorkerMessage> = M & Pick<WorkerMessage, 'version'>;

const isSameReport = (before: readonly DeviceReport[], after: readonly DeviceReport[]): boolean =>
  before.length === after.length &&
  after.every(({ id, perSecond, fed }, at) => {
    const last = before[at];
    return last?.id === id && last.perSecond === perSecond && last.fed === fed;
  });
