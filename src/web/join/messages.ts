import type { FleetSummary } from '../../fleet/view/rows.js';

/** Between the page that works for a fleet and its thread, which has the connection, the engine and the devices. */
export type JoinRequest =
  /** The first one. `name` is that of the worker: letters, digits and _. */
  | { readonly ask: 'connect'; readonly invite: string; readonly name: string }
  | { readonly ask: 'start'; readonly device: string; readonly share: number }
  /** The share of the time in which devices may be busy, 0 to 1. */
  | { readonly ask: 'limit'; readonly share: number }
  /** Leaves the fleet; what is done is reported. The connection stays. */
  | { readonly ask: 'stop' }
  /** Whether anybody looks: a page that is hidden asks the fleet for nothing. */
  | { readonly ask: 'look'; readonly isVisible: boolean };

/** Everything that the page shows. The thread sends it when it changes. */
export interface JoinState {
  /** `ended` is for good: the invite was revoked, has expired, or is not one. */
  readonly connection: 'connecting' | 'open' | 'lost' | 'ended';
  readonly member?: MemberData;
  /** Why the connection is lost or has ended. */
  readonly reason?: string;
  readonly summary?: FleetSummary;
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  /** Workloads besides kernels that this page can run. */
  readonly workloads: readonly string[];
  readonly phase: 'idle' | 'starting' | 'working' | 'leaving';
  /** The device that works. */
  readonly device?: string;
  /** Since the page was loaded. */
  readonly done: ContributionData;
  readonly perSecond: number;
  /** The last things that happened, the newest last. */
  readonly notes: readonly string[];
}

/** Whose invite it is. */
export interface MemberData {
  readonly fleet: string;
  readonly user: string;
  readonly server: string;
  /** Unix time in seconds. */
  readonly expires?: number;
}

export interface ContributionData {
  readonly ranges: number;
  readonly indices: bigint;
  readonly hits: number;
}

export const NOTHING: ContributionData = { ranges: 0, indices: 0n, hits: 0 };

export const addContribution = (a: ContributionData, b: ContributionData): ContributionData => ({
  ranges: a.ranges + b.ranges,
  indices: a.indices + b.indices,
  hits: a.hits + b.hits,
});
