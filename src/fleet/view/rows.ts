/**
 * A fleet as those who watch it see it: fields of the events `fleet` and `fleet_workers` (docs/events.schema.json). An
 * index is a number if that is exact, otherwise decimal text.
 */
export type Index = number | string;

export const WORKER_STATES = ['working', 'idle', 'draining', 'refused', 'stale', 'gone'] as const;

/**
 * `working` has leases, `idle` has none; `draining` takes no more; `refused` gets none because its results were wrong;
 * `stale` was silent for longer than it should; `gone` has left, or was silent for so long that others have its leases.
 */
export type WorkerState = (typeof WORKER_STATES)[number];

/** Workers that count in sums. */
export const LIVE_STATES: readonly WorkerState[] = ['working', 'idle', 'draining'];

/** From the highest to the lowest. */
export const TRUST_LEVELS = ['own', 'trusted', 'new', 'barred'] as const;
export type TrustLevel = (typeof TRUST_LEVELS)[number];

export interface FleetOverview {
  readonly fleet: string;
  /** The version of the NATS server. */
  readonly server: string;
  readonly term: number;
  /** Since the coordinator started. */
  readonly seconds: number;
  /** The interval of heartbeats. */
  readonly beatSeconds: number;
  readonly states: Readonly<Record<WorkerState, number>>;
  /** Devices of live workers, and the mean share of the time that they had work. */
  readonly devices: number;
  readonly fed?: number;
  readonly leases: number;
  readonly coordinator: CoordinatorFigures;
  /** Jobs that are not over first, then the latest of the others; at most 100. */
  readonly jobs: readonly FleetJobRow[];
  readonly jobCount: number;
}

/** What the coordinator itself does. */
export interface CoordinatorFigures {
  readonly leasesGranted: number;
  readonly results: number;
  readonly commits: number;
  readonly refusedResults: number;
  /** Hits in the ledger of all jobs that were open since the coordinator started. */
  readonly hits: number;
  /** Over the last 10 s. */
  readonly leasesPerSecond: number;
  readonly resultsPerSecond: number;
  /** Results that have arrived and are not in the ledger, and the age of the oldest. */
  readonly resultsWaiting: number;
  readonly commitLagSeconds: number;
  /** How long the slowest result of the last commit took from its arrival to the ledger. */
  readonly commitSeconds?: number;
}

export interface FleetJobRow {
  readonly id: string;
  readonly name: string;
  /** `running` and `paused`, or how it ended. */
  readonly state: string;
  readonly priority: number;
  readonly start: Index;
  readonly length: Index;
  readonly done: Index;
  readonly fraction: number;
  /** Of live workers. */
  readonly perSecond: number;
  readonly etaSeconds?: number;
  readonly hits: number;
  readonly leases: number;
  /** Live workers that have a lease of it, and workers that cannot run it. */
  readonly workers: number;
  readonly refusals: number;
  /** The share of its indices that workers did which have left, since the coordinator started. */
  readonly leftShare: number;
  /** Indices that are done and wait for audits, and those that were done again for audits. */
  readonly unsettled: Index;
  readonly audited: Index;
  /** Indices that counted until their worker was revoked or proven wrong, since the coordinator started: they are done again. */
  readonly reopened?: Index;
}

export interface FleetWorkerRow {
  readonly id: string;
  readonly state: WorkerState;
  /** Why it is refused or gone. */
  readonly reason?: string;
  /** Its share of what the listed live workers have done, 0 to 1. Undefined if it does not count. */
  readonly share?: number;
  readonly perSecond: number;
  readonly devices: readonly FleetDevice[];
  /** The mean of its devices. */
  readonly fed?: number;
  readonly leases: number;
  readonly heardSeconds: number;
  readonly faults: number;
  /** How far its results are believed, and how often they agreed with those of others. */
  readonly trust: TrustLevel;
  readonly agreements: number;
}

export interface FleetDevice {
  readonly id: string;
  readonly perSecond: number;
  readonly fed?: number;
}

export const WORKER_ORDERS = ['share', 'rate', 'state', 'name', 'fed', 'leases', 'heard', 'trust'] as const;
export type WorkerOrder = (typeof WORKER_ORDERS)[number];

export interface WorkerQuery {
  readonly from: number;
  readonly count: number;
  readonly order: WorkerOrder;
  /** From the other end. */
  readonly isReversed: boolean;
  /** Text in the name or the devices. */
  readonly search: string;
  readonly state?: WorkerState;
  /** Workers of this job only, with their shares and rates of it. */
  readonly job?: string;
}

export interface WorkerPage {
  /** Workers that the query names. */
  readonly total: number;
  readonly from: number;
  readonly workers: readonly FleetWorkerRow[];
}

export const ALL_WORKERS: WorkerQuery = { from: 0, count: 1000, order: 'share', isReversed: false, search: '' };

/** Where the indices of a job are, in equal parts of its space. */
export interface JobCoverage {
  readonly start: Index;
  readonly length: Index;
  readonly bins: number;
  readonly done: readonly Index[];
  /** With workers. */
  readonly onDevice: readonly Index[];
  /** Done by workers that are not trusted: they count when audits have confirmed them. */
  readonly unconfirmed?: readonly Index[];
  readonly redone: readonly Index[];
}

/** Who has done a job. */
export interface JobProvenance {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly submitters: readonly string[];
  readonly length: Index;
  readonly done: Index;
  /** The most first, at most 1,000. */
  readonly workers: readonly JobPart[];
}

/** What the workers of one user have done of a job. */
export interface JobPart {
  readonly user: string;
  readonly indices: Index;
  readonly rangeCount: number;
  /** False if there were too many ranges: others have done parts of those that are listed. */
  readonly isExact: boolean;
  /** The first ranges, at most 20: start and end. */
  readonly ranges: readonly (readonly [Index, Index])[];
}

/** What a worker sees of its fleet. */
export interface FleetSummary {
  readonly fleet: string;
  /** Live ones. */
  readonly workers: number;
  /** Jobs that are not over, at most 20. */
  readonly jobs: readonly SummaryJob[];
  /** The worker itself, if the fleet knows it. */
  readonly worker?: { readonly state: WorkerState; readonly share: number; readonly trust: TrustLevel };
}

export interface SummaryJob extends Pick<FleetJobRow, 'name' | 'state' | 'fraction' | 'perSecond'> {
  /** The name of the workload, or `kernel`. Undefined from coordinators of an earlier release. */
  readonly work?: string;
  /** Users that have submitted it. */
  readonly submitters?: readonly string[];
}

/** What a person who watches a fleet can change. */
export type FleetAction =
  | { readonly action: 'pause' | 'resume' | 'stop'; readonly job: string }
  | { readonly action: 'priority'; readonly job: string; readonly priority: number }
  | { readonly action: 'drain'; readonly worker: string };
