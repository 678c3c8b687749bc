import type { Range } from '../../engine/work/space.js';
import type { PlainRecord } from '../manifest/index.js';

/**
 * What workers and the coordinator tell each other. Any message may be lost, delayed, duplicated or overtaken by a later
 * one. So each states facts that stay true, or is answered only once, or is repeated until it is answered.
 */

/** A worker's process: each start has another name, so that messages of an earlier one cannot be taken for its own. */
export type WorkerId = string;
/** A job: the digest of its manifest. */
export type JobId = string;

export type WorkerMessage = (WantMessage | BeatMessage | LeaveMessage | RefuseMessage) & {
  /** The version of the messages that the worker reads, if it is not the current one. */
  readonly version?: number;
};

/** Asks for a lease. Sent again with the same number until it is answered. */
export interface WantMessage {
  readonly kind: 'want';
  readonly worker: WorkerId;
  /** Counts from 1. */
  readonly request: number;
  readonly rates: readonly JobRate[];
  /** Names of workloads, and `kernel` for users' kernels. All if it is missing. */
  readonly only?: readonly string[];
}

/** States everything that a worker holds. Repeated: it keeps the leases, and repairs whatever was lost. */
export interface BeatMessage {
  readonly kind: 'beat';
  readonly worker: WorkerId;
  /** The last request whose answer has arrived. */
  readonly answered: number;
  readonly rates: readonly JobRate[];
  /** Leases with indices that are not committed. */
  readonly leases: readonly LeaseReport[];
  /** For those who watch the fleet. */
  readonly devices?: readonly DeviceReport[];
}

/** A device of a worker. */
export interface DeviceReport {
  readonly id: string;
  /** Indices per second since the last heartbeat. */
  readonly perSecond: number;
  /** Share of the time that it had work, 0 to 1. */
  readonly fed?: number;
}

export interface LeaseReport extends LeaseClaim {
  readonly token: string;
  /** Indices that are not done. */
  readonly left: bigint;
}

/** Identifies a lease. Its token proves that a coordinator of this fleet made it. */
export interface LeaseClaim {
  readonly job: JobId;
  readonly id: string;
  readonly range: Range;
  /** Witnesses are reported too: indices that meet a weaker condition, as about one in 2^bits does. */
  readonly bits?: number;
}

export interface JobRate {
  readonly job: JobId;
  /** Indices per ms. */
  readonly perMs: number;
}

/** The worker ends. */
export interface LeaveMessage {
  readonly kind: 'leave';
  readonly worker: WorkerId;
  readonly reason: string;
}

/** The worker cannot run a job. */
export interface RefuseMessage {
  readonly kind: 'refuse';
  readonly worker: WorkerId;
  readonly job: JobId;
  readonly reason: string;
}

/** Ranges that are done, with all of their hits. Kept and sent again until it is committed. */
export interface ResultMessage {
  readonly kind: 'result';
  readonly worker: WorkerId;
  /** Numbers the worker's results. */
  readonly number: number;
  readonly claim: LeaseClaim;
  readonly token: string;
  readonly ranges: readonly Range[];
  readonly hits: readonly FoundHit[];
  /** All of the ranges that are no hits, if the lease asks for them. */
  readonly witnesses?: readonly FoundHit[];
}

export interface FoundHit {
  readonly index: bigint;
  readonly fields: PlainRecord;
}

export type CoordinatorMessage = GrantMessage | NoneMessage | StateMessage | DropMessage | CommittedMessage | Broadcast;

/** A lease: the answer to a request. */
export interface GrantMessage {
  readonly kind: 'grant';
  readonly term: number;
  readonly request: number;
  readonly claim: LeaseClaim;
  readonly token: string;
  /** The time that the lease is meant for. */
  readonly ms: number;
  readonly beatMs: number;
}

/** No lease now: the answer to a request. */
export interface NoneMessage {
  readonly kind: 'none';
  readonly term: number;
  readonly request: number;
  readonly retryMs: number;
  readonly beatMs: number;
  /** Why the worker gets no work at all. */
  readonly reason?: string;
}

/** The answer to a heartbeat. */
export interface StateMessage {
  readonly kind: 'state';
  readonly term: number;
  readonly beatMs: number;
  /** The jobs of the heartbeat. */
  readonly jobs: readonly JobState[];
  /** Leases of the heartbeat that others have, or that are done. */
  readonly lost: readonly string[];
  /** The worker takes no more leases, and leaves when those it has are done. */
  readonly isDraining: boolean;
}

export interface JobState {
  readonly job: JobId;
  readonly state: RunState;
  /** Indices from here on are not needed. */
  readonly end: bigint;
}

export type RunState = 'running' | 'paused' | 'ended';

/** Another worker was faster: the range is committed. */
export interface DropMessage {
  readonly kind: 'drop';
  readonly term: number;
  readonly job: JobId;
  readonly range: Range;
}

/** Results that are in the ledger, or are not needed, by number; and those that were refused. */
export interface CommittedMessage {
  readonly kind: 'committed';
  readonly term: number;
  readonly numbers: readonly number[];
  readonly refused: readonly { readonly number: number; readonly reason: string }[];
}

/** To all workers. Repeated in the answers to heartbeats. */
export type Broadcast = JobMessage | AnnounceMessage;

/** A job's state has changed. */
export interface JobMessage {
  readonly kind: 'job';
  readonly term: number;
  readonly state: JobState;
}

/** A coordinator has started: workers tell it what they hold. */
export interface AnnounceMessage {
  readonly kind: 'announce';
  readonly term: number;
}
