import { MillraceError } from '../../kernel/error.js';
import { type FieldReader, fieldReader } from '../../network/fields.js';
import {
  type CoordinatorFigures,
  type FleetAction,
  type FleetDevice,
  type FleetJobRow,
  type FleetOverview,
  type FleetSummary,
  type FleetWorkerRow,
  type Index,
  type JobCoverage,
  type JobProvenance,
  TRUST_LEVELS,
  WORKER_ORDERS,
  WORKER_STATES,
  type WorkerPage,
  type WorkerQuery,
  type WorkerState,
} from './rows.js';

/** Reads what travels between a coordinator and those who watch it: every field has its type and is within its bounds. */

const ADVICE = 'use the same version of Millrace on every machine of the fleet';
const MAX_COUNT = Number.MAX_SAFE_INTEGER;
/** Rows of one answer. */
export const MAX_ROWS = 1000;
const [MAX_NAME, MAX_TEXT, MAX_BINS] = [300, 2000, 1000];

export function readWorkerQuery(value: unknown): WorkerQuery {
  const read = fieldReader('a query for workers', 'see docs/dashboard.md');
  const {
    from = 0,
    count = 100,
    order = 'share',
    isReversed = false,
    search = '',
    state,
    job,
  } = read.object(value, 'it');
  return {
    from: read.integer(from, 'from', 0, MAX_COUNT),
    count: read.integer(count, 'count', 0, MAX_ROWS),
    order: oneOf(read, order, 'order', WORKER_ORDERS),
    isReversed: isReversed === true,
    search: read.text(search, 'search', MAX_NAME),
    ...(state !== undefined && { state: oneOf(read, state, 'state', WORKER_STATES) }),
    ...(job !== undefined && { job: read.text(job, 'job', MAX_NAME) }),
  };
}

export function readFleetAction(value: unknown): FleetAction {
  const read = fieldReader('a request to a fleet', 'see docs/dashboard.md');
  const { action, job, worker, priority } = read.object(value, 'it');
  const kind = oneOf(read, action, 'action', ['pause', 'resume', 'stop', 'priority', 'drain'] as const);
  if (kind === 'drain') return { action: kind, worker: read.text(worker, 'worker', MAX_NAME) };
  const id = read.text(job, 'job', MAX_NAME);
  if (kind !== 'priority') return { action: kind, job: id };
  return { action: kind, job: id, priority: read.integer(priority, 'priority', -MAX_PRIORITY, MAX_PRIORITY) };
}

const MAX_PRIORITY = 9999;

export function readOverview(value: unknown): FleetOverview {
  const read = fieldReader('the state of the fleet', ADVICE);
  const fields = read.object(value, 'it');
  const states = read.object(fields.states, 'states');
  return {
    fleet: read.text(fields.fleet, 'fleet', MAX_NAME),
    server: read.text(fields.server, 'server', MAX_NAME),
    term: countOf(read, fields.term, 'term'),
    seconds: amountOf(read, fields.seconds, 'seconds'),
    beatSeconds: amountOf(read, fields.beatSeconds, 'beatSeconds'),
    states: Object.fromEntries(
      WORKER_STATES.map((state) => [state, countOf(read, states[state], `states.${state}`)]),
    ) as Record<WorkerState, number>,
    devices: countOf(read, fields.devices, 'devices'),
    ...(fields.fed !== undefined && { fed: read.amount(fields.fed, 'fed', 1) }),
    leases: countOf(read, fields.leases, 'leases'),
    coordinator: readCoordinator(read, fields.coordinator),
    jobs: read.list(fields.jobs, 'jobs', MAX_ROWS).map((job) => readJob(read, job)),
    jobCount: countOf(read, fields.jobCount, 'jobCount'),
  };
}

export function readSummary(value: unknown): FleetSummary {
  const read = fieldReader('what the fleet says of itself', ADVICE);
  const { fleet, workers, jobs, worker } = read.object(value, 'it');
  const own = worker === undefined ? undefined : read.object(worker, 'worker');
  return {
    fleet: read.text(fleet, 'fleet', MAX_NAME),
    workers: countOf(read, workers, 'workers'),
    jobs: read.list(jobs, 'jobs', MAX_ROWS).map((job) => {
      const { name, work, submitters, state, fraction, perSecond } = read.object(job, 'jobs');
      return {
        name: read.text(name, 'jobs.name', MAX_NAME),
        ...(work !== undefined && { work: read.text(work, 'jobs.work', MAX_NAME) }),
        ...(submitters !== undefined && {
          submitters: read
            .list(submitters, 'jobs.submitters', MAX_ROWS)
            .map((one) => read.text(one, 'jobs.submitters', MAX_NAME)),
        }),
        state: read.text(state, 'jobs.state', MAX_NAME),
        fraction: read.amount(fraction, 'jobs.fraction', 1),
        perSecond: amountOf(read, perSecond, 'jobs.perSecond'),
      };
    }),
    ...(own && {
      worker: {
        state: oneOf(read, own.state, 'worker.state', WORKER_STATES),
        share: read.amount(own.share, 'worker.share', 1),
        trust: oneOf(read, own.trust, 'worker.trust', TRUST_LEVELS),
      },
    }),
  };
}

function readCoordinator(read: FieldReader, value: unknown): CoordinatorFigures {
  const fields = read.object(value, 'coordinator');
  const count = (name: string): number => countOf(read, fields[name], `coordinator.${name}`);
  const amount = (name: string): number => amountOf(read, fields[name], `coordinator.${name}`);
  return {
    leasesGranted: count('leasesGranted'),
    results: count('results'),
    commits: count('commits'),
    refusedResults: count('refusedResults'),
    hits: count('hits'),
    leasesPerSecond: amount('leasesPerSecond'),
    resultsPerSecond: amount('resultsPerSecond'),
    resultsWaiting: count('resultsWaiting'),
    commitLagSeconds: amount('commitLagSeconds'),
    ...(fields.commitSeconds !== undefined && { commitSeconds: amount('commitSeconds') }),
  };
}

function readJob(read: FieldReader, value: unknown): FleetJobRow {
  const fields = read.object(value, 'jobs');
  const count = (name: string): number => countOf(read, fields[name], `jobs.${name}`);
  return {
    id: read.text(fields.id, 'jobs.id', MAX_NAME),
    name: read.text(fields.name, 'jobs.name', MAX_NAME),
    state: read.text(fields.state, 'jobs.state', MAX_NAME),
    priority: read.integer(fields.priority, 'jobs.priority', -MAX_PRIORITY, MAX_PRIORITY),
    start: indexOf(read, fields.start, 'jobs.start'),
    length: indexOf(read, fields.length, 'jobs.length'),
    done: indexOf(read, fields.done, 'jobs.done'),
    fraction: read.amount(fields.fraction, 'jobs.fraction', 1),
    perSecond: amountOf(read, fields.perSecond, 'jobs.perSecond'),
    ...(fields.etaSeconds !== undefined && { etaSeconds: amountOf(read, fields.etaSeconds, 'jobs.etaSeconds') }),
    hits: count('hits'),
    leases: count('leases'),
    workers: count('workers'),
    refusals: count('refusals'),
    leftShare: amountOf(read, fields.leftShare, 'jobs.leftShare'),
    unsettled: indexOf(read, fields.unsettled, 'jobs.unsettled'),
    audited: indexOf(read, fields.audited, 'jobs.audited'),
    ...(fields.reopened !== undefined && { reopened: indexOf(read, fields.reopened, 'jobs.reopened') }),
  };
}

export function readWorkerPage(value: unknown): WorkerPage {
  const read = fieldReader('the workers of the fleet', ADVICE);
  const fields = read.object(value, 'it');
  return {
    total: countOf(read, fields.total, 'total'),
    from: countOf(read, fields.from, 'from'),
    workers: read.list(fields.workers, 'workers', MAX_ROWS).map((worker) => readWorker(read, worker)),
  };
}

function readWorker(read: FieldReader, value: unknown): FleetWorkerRow {
  const fields = read.object(value, 'workers');
  const share = (name: string): number => read.amount(fields[name], `workers.${name}`, 1);
  return {
    id: read.text(fields.id, 'workers.id', MAX_NAME),
    state: oneOf(read, fields.state, 'workers.state', WORKER_STATES),
    ...(fields.reason !== undefined && { reason: read.text(fields.reason, 'workers.reason', MAX_TEXT) }),
    ...(fields.share !== undefined && { share: share('share') }),
    perSecond: amountOf(read, fields.perSecond, 'workers.perSecond'),
    devices: read.list(fields.devices, 'workers.devices', 100).map((device) => readDevice(read, device)),
    ...(fields.fed !== undefined && { fed: share('fed') }),
    leases: countOf(read, fields.leases, 'workers.leases'),
    heardSeconds: amountOf(read, fields.heardSeconds, 'workers.heardSeconds'),
    faults: countOf(read, fields.faults, 'workers.faults'),
    trust: oneOf(read, fields.trust, 'workers.trust', TRUST_LEVELS),
    agreements: countOf(read, fields.agreements, 'workers.agreements'),
  };
}

function readDevice(read: FieldReader, value: unknown): FleetDevice {
  const { id, perSecond, fed } = read.object(value, 'workers.devices');
  return {
    id: read.text(id, 'workers.devices.id', MAX_NAME),
    perSecond: amountOf(read, perSecond, 'workers.devices.perSecond'),
    ...(fed !== undefined && { fed: read.amount(fed, 'workers.devices.fed', 1) }),
  };
}

export function readCoverage(value: unknown): JobCoverage {
  const read = fieldReader('the coverage of a job', ADVICE);
  const fields = read.object(value, 'it');
  const counts = (name: string): Index[] =>
    read.list(fields[name], name, MAX_BINS).map((count) => indexOf(read, count, name));
  return {
    start: indexOf(read, fields.start, 'start'),
    length: indexOf(read, fields.length, 'length'),
    bins: read.integer(fields.bins, 'bins', 1, MAX_BINS),
    done: counts('done'),
    onDevice: counts('onDevice'),
    ...(fields.unconfirmed !== undefined && { unconfirmed: counts('unconfirmed') }),
    redone: counts('redone'),
  };
}

export function readProvenance(value: unknown): JobProvenance {
  const read = fieldReader('who has done a job', ADVICE);
  const fields = read.object(value, 'it');
  return {
    id: read.text(fields.id, 'id', MAX_NAME),
    name: read.text(fields.name, 'name', MAX_NAME),
    state: read.text(fields.state, 'state', MAX_NAME),
    submitters: read
      .list(fields.submitters, 'submitters', MAX_ROWS)
      .map((one) => read.text(one, 'submitters', MAX_NAME)),
    length: indexOf(read, fields.length, 'length'),
    done: indexOf(read, fields.done, 'done'),
    workers: read.list(fields.workers, 'workers', MAX_ROWS).map((part) => {
      const { user, indices, rangeCount, isExact, ranges } = read.object(part, 'workers');
      return {
        user: read.text(user, 'workers.user', MAX_NAME),
        indices: indexOf(read, indices, 'workers.indices'),
        rangeCount: countOf(read, rangeCount, 'workers.rangeCount'),
        isExact: isExact === true,
        ranges: read.list(ranges, 'workers.ranges', MAX_ROWS).map((range) => {
          const [start, end] = read.list(range, 'workers.ranges', 2);
          return [indexOf(read, start, 'workers.ranges'), indexOf(read, end, 'workers.ranges')] as const;
        }),
      };
    }),
  };
}

const countOf = (read: FieldReader, value: unknown, field: string): number => read.integer(value, field, 0, MAX_COUNT);

const amountOf = (read: FieldReader, value: unknown, field: string): number =>
  read.amount(value, field, Number.MAX_VALUE);

function indexOf(read: FieldReader, value: unknown, field: string): Index {
  read.bigInteger(value, field, 0n, 1n << 128n);
  return value as Index;
}

function oneOf<T extends string>(read: FieldReader, value: unknown, field: string, names: readonly T[]): T {
  const text = read.text(value, field, MAX_NAME);
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new MillraceError({
    code: 'usage',
    message: `${JSON.stringify(text)} is not a value of ${field}: expected ${names.join(', ')}`,
    asked: `${field} ${text}`,
  });
}
