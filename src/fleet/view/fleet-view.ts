import { binCounts, binsFor } from '../../engine/work/bins.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, type Range, shareOf } from '../../engine/work/space.js';
import type { Coordinator } from '../protocol/index.js';
import type { Provenance } from '../trust/index.js';
import { Kept } from './kept.js';
import { RateWindow } from './rate-window.js';
import type { FleetJobRow, FleetOverview, Index, JobCoverage, JobProvenance, WorkerPage, WorkerQuery } from './rows.js';
import { listWorkers, pageOf, type WorkerList } from './worker-list.js';
import { sumWorkers, type Workforce } from './workforce.js';

/** What the view reads of a job, besides what the coordinator's machine has. */
export interface ViewedJob {
  readonly id: string;
  readonly name: string;
  readonly manifest: { readonly space: Range };
  readonly done: Intervals;
  readonly hitCount: number;
  readonly outcome: string | undefined;
  readonly submitters: ReadonlySet<string>;
  readonly provenance: Pick<Provenance, 'workers'>;
}

export interface ViewOptions {
  readonly core: Coordinator;
  readonly jobs: () => Iterable<ViewedJob>;
  /** Hits in the ledger of all jobs that were open since the start. */
  readonly hits: () => number;
  readonly fleet: string;
  readonly server: () => string;
  readonly term: number;
  /** On the coordinator's clock, in ms. */
  readonly now: () => number;
}

/** Bins of a coverage strip. */
const BINS = 240;
const MAX_JOBS = 100;
/** Of one answer about who did a job. */
const MAX_PARTS = 1000;
const MAX_RANGES = 20;

/** A fleet for those who watch it. It only reads, only when it is asked, and computes only what has changed. */
export class FleetView {
  readonly #options: ViewOptions;
  readonly #startedAt: number;
  readonly #leases = new RateWindow();
  readonly #results = new RateWindow();
  #sums: Workforce | undefined;
  #revision = -1;
  /** Lists are kept as long as the sums are. */
  #sumCount = 0;
  readonly #lists = new Kept<WorkerList>();
  readonly #coverages = new Kept<JobCoverage>();

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  overview(): FleetOverview {
    const { core, fleet, server, term } = this.#options;
    const now = this.#options.now();
    const { states, devices, fed, jobs } = this.#workforce(now);
    const rows = [...this.#options.jobs()].map((job) => this.#jobRow(job, jobs.get(job.id)));
    return {
      fleet,
      server: server(),
      term,
      seconds: (now - this.#startedAt) / 1000,
      beatSeconds: core.beatMs / 1000,
      states,
      devices,
      ...(fed !== undefined && { fed }),
      leases: rows.reduce((sum, { leases }) => sum + leases, 0),
      coordinator: this.#coordinator(now),
      jobs: inOrder(rows).slice(0, MAX_JOBS),
      jobCount: rows.length,
    };
  }

  workers(query: WorkerQuery): WorkerPage {
    const { core } = this.#options;
    const now = this.#options.now();
    const { from: _, count: __, ...which } = query;
    const key = JSON.stringify(which);
    // Heartbeats change this order without a new revision.
    if (query.order === 'heard') return pageOf(listWorkers(core, query, now), query, now);
    this.#workforce(now);
    return pageOf(
      this.#lists.get(key, this.#sumCount, () => listWorkers(core, query, now)),
      query,
      now,
    );
  }

  /** Undefined if there is no such job. */
  coverage(id: string): JobCoverage | undefined {
    const job = [...this.#options.jobs()].find((one) => one.id === id);
    if (job === undefined) return undefined;
    const { space } = job.manifest;
    const { table, trust } = this.#options.core.jobs.get(id) ?? {};
    const bins = binsFor(space, BINS);
    const counts = (ranges: Iterable<Range>): Index[] => binCounts(ranges, space, bins).map(indexOf);
    return this.#coverages.get(id, this.#options.core.revision, () => {
      const unconfirmed = trust?.unsettledRanges ?? Intervals.none;
      return {
        ...{ start: indexOf(space.start), length: indexOf(space.length), bins },
        done: counts(job.done),
        // A worker may have indices that another has done: to check them.
        onDevice: counts([...(table?.leased() ?? [])].flatMap((range) => [...unconfirmed.missing(range)])),
        unconfirmed: counts(unconfirmed),
        redone: counts(table?.returned ?? []),
      };
    });
  }

  /** Returns which users have done which parts of a job; undefined if there is no such job. */
  provenance(id: string): JobProvenance | undefined {
    const job = [...this.#options.jobs()].find((one) => one.id === id);
    if (job === undefined) return undefined;
    const { name, done, outcome, submitters, provenance } = job;
    return {
      id,
      name,
      state: outcome ?? this.#options.core.jobs.get(id)?.state ?? 'ended',
      submitters: [...submitters],
      length: indexOf(job.manifest.space.length),
      done: indexOf(done.total),
      workers: provenance.workers.slice(0, MAX_PARTS).map(({ worker, indices, ranges, isExact }) => ({
        user: worker,
        indices: indexOf(indices),
        rangeCount: ranges.length,
        isExact,
        ranges: ranges.slice(0, MAX_RANGES).map((range) => [indexOf(range.start), indexOf(endOf(range))] as const),
      })),
    };
  }

  #workforce(now: number): Workforce {
    const { core } = this.#options;
    if (this.#sums && this.#revision === core.revision && now < this.#sums.validUntil) return this.#sums;
    this.#sums = sumWorkers(core, now);
    this.#revision = core.revision;
    this.#sumCount++;
    return this.#sums;
  }

  #coordinator(now: number): FleetOverview['coordinator'] {
    const { leases, results, commits, refusedResults, waitingResults, oldestAt, commitMs } = this.#options.core.counts;
    return {
      ...{ leasesGranted: leases, results, commits, refusedResults, hits: this.#options.hits() },
      leasesPerSecond: this.#leases.rate(leases, now),
      resultsPerSecond: this.#results.rate(results, now),
      resultsWaiting: waitingResults,
      commitLagSeconds: oldestAt === undefined ? 0 : Math.max(0, now - oldestAt) / 1000,
      ...(commitMs !== undefined && { commitSeconds: commitMs / 1000 }),
    };
  }

  #jobRow(job: ViewedJob, { perMs, workers } = { perMs: 0, workers: 0 }): FleetJobRow {
    const view = this.#options.core.jobs.get(job.id);
    const { space } = job.manifest;
    const { total } = job.done;
    const work = view?.work;
    // Some of what is done may lie beyond the end, which a first hit has set.
    const needed = view && between(space.start, view.table.end);
    const left = view && needed ? Number(needed.length - view.table.counted.within(needed).total) : 0;
    return {
      id: job.id,
      name: job.name,
      state: job.outcome ?? view?.state ?? 'ended',
      priority: view?.priority ?? 0,
      start: indexOf(space.start),
      length: indexOf(space.length),
      done: indexOf(total),
      fraction: shareOf(total, space.length),
      perSecond: perMs * 1000,
      ...(view && perMs > 0 && { etaSeconds: left / perMs / 1000 }),
      hits: job.hitCount,
      leases: view?.table.size ?? 0,
      workers,
      refusals: view?.refusals.size ?? 0,
      leftShare: work && work.indices > 0 ? work.leftIndices / work.indices : 0,
      unsettled: indexOf(view?.trust.unsettled ?? 0n),
      audited: indexOf(view?.trust.auditedIndices ?? 0n),
      reopened: indexOf(view?.reopened ?? 0n),
    };
  }
}

/** Running, paused, ended; of equal ones the latest first. */
function inOrder(rows: readonly FleetJobRow[]): FleetJobRow[] {
  const rank = ({ state }: FleetJobRow): number => (state === 'running' ? 0 : state === 'paused' ? 1 : 2);
  return [...rows].reverse().sort((a, b) => rank(a) - rank(b) || b.priority - a.priority);
}

/** As in events: a number if that is exact, otherwise decimal text. */
const indexOf = (value: bigint): Index => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString());
