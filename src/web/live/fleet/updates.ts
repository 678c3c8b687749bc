import type { FleetJobRow, FleetOverview, FleetWorkerRow, JobCoverage, WorkerQuery } from '../../../fleet/view/rows.js';

/** What a page of a fleet is sent: the parts that have changed. */

export type FleetHead = Omit<FleetOverview, 'jobs' | 'seconds'>;

export interface FleetUpdate {
  /** The first of a connection: the server does not know yet which workers the page shows. */
  readonly isFirst?: true;
  readonly head?: FleetHead;
  /** Jobs that are new or have changed. */
  readonly jobs?: readonly FleetJobRow[];
  /** Ids of all jobs. */
  readonly order?: readonly string[];
}

export interface WorkersUpdate {
  readonly query: WorkerQuery;
  readonly total: number;
  readonly from: number;
  /** Rows of the part that the page shows. */
  readonly count: number;
  /** Rows that have changed, by their place in the part. */
  readonly changed: readonly (readonly [at: number, row: FleetWorkerRow])[];
}

export interface CoverageUpdate {
  readonly job: string;
  readonly coverage: JobCoverage;
}
