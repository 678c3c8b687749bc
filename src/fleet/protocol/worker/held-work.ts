import type { Intervals } from '../../../engine/work/intervals.js';
import type { JobRun } from '../events.js';
import type { JobId, JobRate } from '../messages.js';
import type { HeldLease } from './held-lease.js';
import { RateMeter } from './rate-meter.js';

/** What a worker has to do: its leases, and the runs of jobs that do them. */
export class HeldWork {
  readonly #leases = new Map<string, HeldLease>();
  /** A job runs once for each weaker condition that its leases ask for. */
  readonly #runs = new Map<string, WorkerRun>();

  get leases(): ReadonlyMap<string, HeldLease> {
    return this.#leases;
  }

  /** True if devices have something to do. */
  get isUnderWay(): boolean {
    for (const { claim, left } of this.#leases.values()) {
      const run = this.run(claim);
      if (run?.isOpen && !run.isPaused && !left.isEmpty) return true;
    }
    return false;
  }

  add(lease: HeldLease): void {
    this.#leases.set(lease.claim.id, lease);
  }

  remove(lease: HeldLease): void {
    this.#leases.delete(lease.claim.id);
  }

  leasesOf(job: JobId): HeldLease[] {
    return [...this.#leases.values()].filter(({ claim }) => claim.job === job);
  }

  leasesIn({ job, bits }: JobRun): HeldLease[] {
    return this.leasesOf(job).filter(({ claim }) => claim.bits === bits);
  }

  /** Returns what no lease of the run has to do. */
  unheld(run: JobRun, ranges: Intervals): Intervals {
    let free = ranges;
    for (const lease of this.leasesIn(run)) for (const range of lease.left) free = free.remove(range);
    return free;
  }

  run(of: JobRun): WorkerRun | undefined {
    return this.#runs.get(runKey(of));
  }

  runsOf(job: JobId): WorkerRun[] {
    return [...this.#runs.values()].filter((run) => run.job === job);
  }

  /** Adds a run whose job is not open yet. */
  addRun({ job, bits }: JobRun): void {
    const isPaused = this.runsOf(job).some((other) => other.isPaused);
    this.#runs.set(runKey({ job, bits }), { job, bits, isOpen: false, isPaused, meter: new RateMeter() });
  }

  /** Removes the job with its leases. Returns whether it had runs. */
  removeJob(job: JobId): boolean {
    for (const lease of this.leasesOf(job)) this.remove(lease);
    const runs = this.runsOf(job);
    for (const run of runs) this.#runs.delete(runKey(run));
    return runs.length > 0;
  }

  rates(): JobRate[] {
    return [...new Set([...this.#runs.values()].map(({ job }) => job))].flatMap((job) => {
      const perMs = this.rateOf(job);
      return perMs === undefined ? [] : [{ job, perMs }];
    });
  }

  /** Runs of a job with and without witnesses are about as fast; one that rests has an old figure. */
  rateOf(job: JobId): number | undefined {
    const known = this.runsOf(job).flatMap(({ meter }) => meter.perMs ?? []);
    return known.length === 0 ? undefined : Math.max(...known);
  }

  /** The rate by which the end of a run is foreseen. Undefined if neither it nor another run of its job has one that is not rough. */
  plannedRate({ job, meter }: WorkerRun): number | undefined {
    if (!meter.isRough) return meter.perMs;
    const known = this.runsOf(job).flatMap(({ meter: { isRough, perMs = 0 } }) => (isRough ? [] : perMs));
    return known.length === 0 ? undefined : Math.max(...known);
  }

  /** Lowers the rates of runs that have done little for `ms`. */
  checkRates(now: number, ms: number): void {
    for (const run of this.#runs.values())
      if (!run.isPaused && this.leasesIn(run).some(({ left }) => !left.isEmpty)) run.meter.check(now, ms);
  }
}

export interface WorkerRun extends JobRun {
  isOpen: boolean;
  isPaused: boolean;
  readonly meter: RateMeter;
}

/** The run itself, as effects name it. */
export const runOf = ({ job, bits }: JobRun): JobRun => ({ job, ...(bits !== undefined && { bits }) });

const runKey = ({ job, bits }: JobRun): string => (bits === undefined ? job : `${job} ${bits}`);
