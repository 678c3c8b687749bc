import { signal } from '@preact/signals';
import type { FleetJobRow, FleetWorkerRow, JobCoverage, WorkerQuery } from '../../../fleet/view/rows.js';
import type { CoverageUpdate, FleetHead, FleetUpdate, WorkersUpdate } from '../../live/fleet/updates.js';
import { post } from '../session.js';

/** What the server has sent about the fleet that the page shows. */

/** The fleet, and the job of it; undefined for other pages. */
export const shownFleet = signal<{ readonly key: string; readonly job: string | undefined } | undefined>(undefined);
export const head = signal<FleetHead | undefined>(undefined);
export const jobs = signal<readonly FleetJobRow[]>([]);
export const jobCoverage = signal<CoverageUpdate | undefined>(undefined);

/** The part of the list of workers that the server sends changes of. */
interface WorkerWindow {
  readonly query: WorkerQuery;
  readonly total: number;
  readonly rows: readonly FleetWorkerRow[];
}

export const workerWindow = signal<WorkerWindow | undefined>(undefined);

/** This page's name for the server. */
const viewer = crypto.randomUUID();
let rowOf = new Map<string, FleetJobRow>();
let asked: { readonly query: WorkerQuery; readonly done: (rows: readonly FleetWorkerRow[]) => void } | undefined;

/** Reads the address: `#/fleet/NAME` or `#/fleet/NAME/job/ID`. Returns the parameters of the page's events. */
export function fleetQuery(hash: string): Readonly<Record<string, string>> {
  const [, key, job] = /^#\/fleet\/(\w+)(?:\/job\/([0-9a-f]+))?$/.exec(hash) ?? [];
  shownFleet.value = key === undefined ? undefined : { key, job };
  return key === undefined ? {} : { fleet: key, viewer, ...(job !== undefined && { fleetJob: job }) };
}

export function clearFleet(): void {
  head.value = undefined;
  jobs.value = [];
  rowOf = new Map();
  jobCoverage.value = undefined;
  workerWindow.value = undefined;
}

export const fleetHandlers = {
  fleet: ({ isFirst, head: nextHead, jobs: changed = [], order }: FleetUpdate): void => {
    const query = workerWindow.value?.query;
    if (isFirst && query) void tell(query).catch(() => undefined); // the connection's state is shown above
    if (nextHead) head.value = nextHead;
    for (const job of changed) rowOf.set(job.id, job);
    const ids = order ?? jobs.value.map(({ id }) => id);
    if (order || changed.length > 0) jobs.value = ids.flatMap((id) => rowOf.get(id) ?? []);
  },
  workers: ({ query, total, count, changed }: WorkersUpdate): void => {
    const isAsked = asked && JSON.stringify(asked.query) === JSON.stringify(query);
    const known = workerWindow.value;
    const rows = known && JSON.stringify(known.query) === JSON.stringify(query) ? [...known.rows] : [];
    for (const [at, row] of changed) rows[at] = row;
    rows.length = count;
    workerWindow.value = { query, total, rows };
    if (!isAsked) return;
    asked?.done(rows);
    asked = undefined;
  },
  'fleet-coverage': (update: CoverageUpdate): void => {
    jobCoverage.value = update;
  },
};

export const coverageOf = (job: string): JobCoverage | undefined =>
  jobCoverage.value?.job === job ? jobCoverage.value.coverage : undefined;

/** Tells the server which workers the page shows. */
const tell = (query: WorkerQuery): Promise<Response> => post(`/api/view/${viewer}/workers`, query);

/** Returns the workers of a part of the list, now and, by `workerWindow`, whenever they change. */
export function showWorkers(query: WorkerQuery, signal: AbortSignal): Promise<readonly FleetWorkerRow[]> {
  const known = workerWindow.value;
  if (known && JSON.stringify(known.query) === JSON.stringify(query)) return Promise.resolve(known.rows);
  return new Promise((resolve, reject) => {
    asked = { query, done: resolve };
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    tell(query).catch(reject);
  });
}
