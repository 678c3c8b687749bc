import { type Coordinator, contributionMs, type WorkerView } from '../protocol/index.js';
import {
  type FleetWorkerRow,
  LIVE_STATES,
  TRUST_LEVELS,
  type TrustLevel,
  WORKER_STATES,
  type WorkerOrder,
  type WorkerPage,
  type WorkerQuery,
  type WorkerState,
} from './rows.js';

/** A worker with what the list is ordered by. */
interface ListedWorker {
  readonly worker: WorkerView;
  readonly state: WorkerState;
  readonly reason: string | undefined;
  readonly leases: number;
  /** Of the job, or of all. */
  readonly perMs: number;
  readonly work: number;
  readonly trust: TrustLevel;
  readonly agreements: number;
}

/** The workers that a query names, in its order. Those that do not count are last in every order. */
export interface WorkerList {
  readonly workers: readonly ListedWorker[];
  /** The work of all that count, whether or not the query names them. */
  readonly total: number;
}

/** Takes time in proportion to all workers: some milliseconds for 10,000. So lists are kept until something changes. */
export function listWorkers(core: Coordinator, query: WorkerQuery, now: number): WorkerList {
  const { order, isReversed, search, state, job } = query;
  const text = search.toLowerCase();
  const [live, rest]: [ListedWorker[], ListedWorker[]] = [[], []];
  let total = 0;
  const add = (worker: WorkerView, departed?: string): void => {
    if (job !== undefined && !worker.jobs.has(job)) return;
    const entry = listedOf(core, worker, now, job, departed);
    if (isLive(entry.state)) total += entry.work;
    if (state !== undefined && entry.state !== state) return;
    if (text === '' || matches(worker, text)) (isLive(entry.state) ? live : rest).push(entry);
  };
  for (const worker of core.workers.values()) add(worker);
  for (const { worker, reason } of core.departed(now)) add(worker, reason);
  const compare = COMPARE[order];
  const sign = isReversed ? -1 : 1;
  for (const part of [live, rest]) part.sort((a, b) => sign * compare(a, b) || byName(a, b));
  return { workers: [...live, ...rest], total };
}

/** Returns a part of a list, as it is shown. */
export function pageOf({ workers, total }: WorkerList, { from, count }: WorkerQuery, now: number): WorkerPage {
  const shown = workers.slice(from, from + count);
  return { total: workers.length, from, workers: shown.map((entry) => rowOf(entry, total, now)) };
}

const isLive = (state: WorkerState): boolean => LIVE_STATES.includes(state);

const byName = (a: ListedWorker, b: ListedWorker): number => (a.worker.id < b.worker.id ? -1 : 1);

const COMPARE: Readonly<Record<WorkerOrder, (a: ListedWorker, b: ListedWorker) => number>> = {
  share: (a, b) => b.work - a.work,
  rate: (a, b) => b.perMs - a.perMs,
  state: (a, b) => WORKER_STATES.indexOf(a.state) - WORKER_STATES.indexOf(b.state),
  name: byName,
  fed: (a, b) => (fedOf(b.worker) ?? -1) - (fedOf(a.worker) ?? -1),
  leases: (a, b) => b.leases - a.leases,
  heard: (a, b) => a.worker.heardAt - b.worker.heardAt,
  trust: (a, b) => TRUST_LEVELS.indexOf(a.trust) - TRUST_LEVELS.indexOf(b.trust) || b.agreements - a.agreements,
};
const matches = ({ id, devices }: WorkerView, text: string): boolean =>
  id.toLowerCase().includes(text) || devices.some((device) => device.id.toLowerCase().includes(text));

function listedOf(core: Coordinator, worker: WorkerView, now: number, job?: string, departed?: string): ListedWorker {
  const leases = departed === undefined ? leasesOf(core, worker, job) : 0;
  const state = departed === undefined ? stateOf(core, worker, now) : 'gone';
  const reason = departed ?? worker.barred;
  const work = job === undefined ? contributionMs(worker, core.jobs) : (worker.jobs.get(job)?.done ?? 0);
  const { standing: trust, agreements } = core.standingOf(worker.id);
  const perMs = isLive(state) ? rateOf(core, worker, job) : 0;
  return { worker, state, reason, leases, perMs, work, trust, agreements };
}

/** A worker is late when it was silent for two and a half intervals of its heartbeat. */
const LATE_BEATS = 2.5;

/** When a worker becomes stale unless it is heard before. */
export const staleAt = (core: Coordinator, { heardAt }: WorkerView): number => heardAt + LATE_BEATS * core.beatMs;

export function stateOf(core: Coordinator, worker: WorkerView, now: number): WorkerState {
  if (now > staleAt(core, worker)) return 'stale';
  if (worker.barred !== undefined) return 'refused';
  if (worker.isDraining) return 'draining';
  return leasesOf(core, worker) > 0 ? 'working' : 'idle';
}

/** Leases of a job, or of all. */
function leasesOf(core: Coordinator, { id }: WorkerView, job?: string): number {
  if (job !== undefined) return core.jobs.get(job)?.table.leaseCount(id) ?? 0;
  let leases = 0;
  for (const { table } of core.jobs.values()) leases += table.leaseCount(id);
  return leases;
}

/** Indices per ms. A job that a worker has no lease of, or that is paused, does not count. */
function rateOf(core: Coordinator, worker: WorkerView, job?: string): number {
  let sum = 0;
  for (const [id, { perMs = 0 }] of worker.jobs) {
    if (job !== undefined && id !== job) continue;
    const view = core.jobs.get(id);
    if (view?.state === 'running' && view.table.leaseCount(worker.id) > 0) sum += perMs;
  }
  return sum;
}

/** The mean of its devices. */
export function fedOf({ devices }: WorkerView): number | undefined {
  let [sum, known] = [0, 0];
  for (const { fed } of devices) {
    if (fed === undefined) continue;
    sum += fed;
    known++;
  }
  return known === 0 ? undefined : sum / known;
}

function rowOf(
  { worker, state, reason, leases, perMs, work, trust, agreements }: ListedWorker,
  total: number,
  now: number,
): FleetWorkerRow {
  const { id, devices, faults, heardAt } = worker;
  const fed = fedOf(worker);
  return {
    id,
    state,
    ...(reason !== undefined && { reason }),
    ...(isLive(state) && total > 0 && { share: work / total }),
    perSecond: perMs * 1000,
    devices,
    ...(fed !== undefined && { fed }),
    leases,
    heardSeconds: Math.max(0, Math.round((now - heardAt) / 100) / 10),
    faults,
    trust,
    agreements,
  };
}
