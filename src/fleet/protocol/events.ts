import type { SearchMode } from '../../engine/makers/reorder-buffer.js';
import type { Intervals } from '../../engine/work/intervals.js';
import type { Range } from '../../engine/work/space.js';
import type { LeaseTable } from '../lease/index.js';
import type { PlainValue } from '../manifest/index.js';
import type { Identity, JobTrust, Provenance, StoredValues } from '../trust/index.js';
import type {
  Broadcast,
  CoordinatorMessage,
  DeviceReport,
  FoundHit,
  JobId,
  LeaseClaim,
  ResultMessage,
  RunState,
  WorkerId,
  WorkerMessage,
} from './messages.js';

/** What happens to the two machines of the protocol, and what they ask for. The caller carries effects out, in order. */

/** Makes and checks the tokens of leases. */
export interface LeaseTokens {
  make(worker: WorkerId, claim: LeaseClaim): string;
  isValid(worker: WorkerId, claim: LeaseClaim, token: string): boolean;
}

export interface CoordinatorOptions {
  /** Larger than that of every earlier coordinator. */
  readonly term: number;
  readonly tokens: LeaseTokens;
  readonly now: number;
  /** For how long leases of an earlier coordinator are adopted before new ones are made. */
  readonly adoptMs?: number;
  /** Without it all workers are trusted. */
  readonly trust?: TrustOptions;
  /** What earlier coordinators have stored in the scope `WORKERS`. */
  readonly state?: StoredValues;
}

/** A change of what survives a coordinator, besides the ledger: a value by scope and key. Undefined removes the key. */
export interface StateChange {
  /** A job, or `WORKERS`. */
  readonly scope: string;
  readonly key: string;
  readonly value: PlainValue | undefined;
}

export interface TrustOptions {
  /** Who a worker is: processes with one identity do not audit each other. Default: each is another. */
  identityOf?(worker: WorkerId): Identity;
  /** Whether it was invited as trusted: its results count at once. */
  isOwn(worker: Identity): boolean;
  /** Whether it was revoked, also before this coordinator. Default: false. */
  isRevoked?(worker: Identity): boolean;
  /** From 0 to 1. Workers must not be able to guess it. */
  random(): number;
}

export interface AddedJob {
  readonly id: JobId;
  /** The workload's name, or `kernel`. */
  readonly name: string;
  readonly space: Range;
  readonly mode: SearchMode;
  readonly priority?: number;
  /** What earlier coordinators have stored of it. */
  readonly state?: StoredValues;
  /** Where it is noted who did what. Default: a new one. */
  readonly provenance?: Provenance;
  /** Counted by the ledger. */
  readonly counted?: Intervals;
  /** The lowest hit in the ledger. */
  readonly firstHit?: bigint;
  /** The job can run with a weaker condition: of as many bits as are asked for, or always the same. */
  readonly witnesses?: 'graded' | 'fixed';
}

export type CoordinatorEvent =
  | { readonly kind: 'start' }
  | { readonly kind: 'add'; readonly job: AddedJob }
  | { readonly kind: 'message'; readonly message: WorkerMessage }
  /** A result from the stream. The receipt is the caller's; `acknowledge` returns it. */
  | { readonly kind: 'result'; readonly receipt: number; readonly result: ResultMessage }
  /**
   * The hits of a result were checked; `wrong` says what is wrong. `isDisputed`: the worker is right, but the submitter's own
   * check refuses a hit. Nothing is counted then, and the job pauses.
   */
  | {
      readonly kind: 'verified';
      readonly receipt: number;
      readonly wrong?: string | undefined;
      readonly isDisputed?: boolean;
    }
  /** The last commit is in the ledger. A commit that fails ends the coordinator: the ledger is what counts. */
  | { readonly kind: 'committed' }
  | { readonly kind: 'control'; readonly job: JobId; readonly state: RunState }
  | { readonly kind: 'priority'; readonly job: JobId; readonly priority: number }
  /** The worker gets no more leases, and is told to leave when it has none. */
  | { readonly kind: 'drain'; readonly worker: WorkerId }
  /** `isRevoked` says so already. What rests on its word alone is done again. */
  | { readonly kind: 'revoke'; readonly who: Identity }
  | { readonly kind: 'tick' };

export type CoordinatorEffect =
  | { readonly kind: 'send'; readonly to: WorkerId; readonly message: CoordinatorMessage }
  | { readonly kind: 'broadcast'; readonly message: Broadcast }
  | {
      readonly kind: 'verify';
      readonly receipt: number;
      readonly job: JobId;
      readonly hits: readonly FoundHit[];
      /** They have to meet the weaker condition of these bits, and not to be hits. */
      readonly witnesses: readonly FoundHit[];
      readonly bits: number | undefined;
    }
  /** Write to the ledger, in one transaction, unless another coordinator has a larger term. One at a time. */
  | {
      readonly kind: 'commit';
      readonly term: number;
      readonly entries: readonly CommitEntry[];
      /** To be stored after the entries. */
      readonly changes: readonly StateChange[];
    }
  /** The stream can forget these results. */
  | { readonly kind: 'acknowledge'; readonly receipts: readonly number[] }
  | { readonly kind: 'ended'; readonly job: JobId; readonly outcome: JobOutcome }
  | { readonly kind: 'refused'; readonly job: JobId; readonly worker: WorkerId; readonly reason: string }
  | { readonly kind: 'fault'; readonly job: JobId; readonly worker: WorkerId; readonly reason: string }
  /** Ranges that counted are done again, because their workers are not believed any more. */
  | { readonly kind: 'reopened'; readonly job: JobId; readonly indices: bigint; readonly ranges: number };

/** Entries of a commit are made in their order. */
export interface CommitEntry {
  readonly job: JobId;
  /** They count no longer, and are done again. Their hits stay. */
  readonly reopened?: readonly Range[];
  /** Disjoint from each other and from everything committed before that was not reopened. */
  readonly ranges: readonly Range[];
  /** All hits of the ranges. They may have been committed early. */
  readonly hits: readonly FoundHit[];
  /** Hits of ranges that do not count yet: they were checked, so that they are right. Some may have been committed before. */
  readonly early: readonly FoundHit[];
}

export type JobOutcome = 'complete' | 'answered' | 'cancelled';

export interface JobView {
  readonly id: JobId;
  readonly name: string;
  readonly state: RunState;
  /** Indices per ms of all its workers. */
  readonly rate: number;
  readonly table: Pick<LeaseTable, 'waiting' | 'counted' | 'leased' | 'returned' | 'size' | 'end' | 'leaseCount'>;
  readonly refusals: ReadonlyMap<WorkerId, string>;
  /** Indices that are done and wait for audits; and those that were done again for audits. */
  readonly trust: Pick<JobTrust, 'unsettled' | 'unsettledRanges' | 'auditedIndices'>;
  /** Indices that counted until their worker was not believed any more, since the coordinator started. */
  readonly reopened: bigint;
  /** Higher is more important. */
  readonly priority: number;
  readonly work: Readonly<JobWork>;
}

/** What workers have done of a job since the coordinator started. Numbers: only shares are computed from them. */
export interface JobWork {
  /** Indices that are committed. */
  indices: number;
  /** The time that workers have spent on them, by their own rates, in ms. */
  ms: number;
  /** Those of workers that have left. */
  leftIndices: number;
}

export interface WorkerView {
  readonly id: WorkerId;
  /** When it was first heard of, and last. */
  readonly since: number;
  readonly heardAt: number;
  readonly faults: number;
  readonly barred: string | undefined;
  readonly isDraining: boolean;
  readonly jobs: ReadonlyMap<JobId, { readonly perMs: number | undefined; readonly done: number }>;
  readonly devices: readonly DeviceReport[];
  /** The mean worker's time for what it has done of jobs that are over, in ms. */
  readonly pastMs: number;
}

/** A worker that has left or lapsed. */
export interface DepartedWorker {
  readonly worker: WorkerView;
  readonly at: number;
  readonly reason: string;
}

/** What a coordinator has done since it started. */
export interface CoordinatorCounts {
  readonly leases: number;
  readonly results: number;
  readonly commits: number;
  readonly refusedResults: number;
  /** Results that have arrived and are not in the ledger. */
  readonly waitingResults: number;
  /** When the oldest of them arrived. */
  readonly oldestAt: number | undefined;
  /** The longest time from the arrival of a result of the last commit until it was in the ledger, in ms. */
  readonly commitMs: number | undefined;
}

/** A job as a worker runs it: with a weaker condition, for witnesses, it is another run. */
export interface JobRun {
  readonly job: JobId;
  readonly bits?: number | undefined;
}

export type WorkerEvent =
  | { readonly kind: 'tick' }
  | { readonly kind: 'message'; readonly message: CoordinatorMessage }
  /** The job's kernel and data are here. */
  | ({ readonly kind: 'opened' } & JobRun)
  /** The job cannot run here. */
  | { readonly kind: 'failed'; readonly job: JobId; readonly reason: string }
  /** Devices have done a range; these are all of its hits, and of its witnesses if the run has them. */
  | ({
      readonly kind: 'done';
      readonly range: Range;
      readonly hits: readonly FoundHit[];
      readonly witnesses?: readonly FoundHit[];
    } & JobRun)
  /** Take no more leases; leave when those held are done. */
  | { readonly kind: 'drain' }
  /** Leave when what is done is committed. */
  | { readonly kind: 'leave'; readonly reason: string };

export type WorkerEffect =
  | { readonly kind: 'send'; readonly message: WorkerMessage }
  | { readonly kind: 'publish'; readonly result: ResultMessage }
  /** Fetch the job; `opened` or `failed` follows. */
  | ({ readonly kind: 'open' } & JobRun)
  /** Let the devices do a range, even if they did it before. */
  | ({ readonly kind: 'feed'; readonly range: Range } & JobRun)
  /** Let the devices stop work on a range. */
  | ({ readonly kind: 'drop'; readonly range: Range } & JobRun)
  /** All runs of the job. */
  | { readonly kind: 'pause'; readonly job: JobId; readonly isPaused: boolean }
  | { readonly kind: 'close'; readonly job: JobId }
  /** The worker has left. */
  | { readonly kind: 'left' };
