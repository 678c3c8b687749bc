import type { Standings } from '../../trust/index.js';
import type { LeaseTokens } from '../events.js';
import type { JobId } from '../messages.js';
import type { Trusting } from './grants.js';
import type { JobRecord } from './job-record.js';
import type { Output } from './output.js';
import type { Roster } from './roster.js';

/** What the parts of the coordinator share. */
export interface CoordinatorState {
  readonly output: Output;
  readonly tokens: LeaseTokens;
  /** Jobs that are not over. */
  readonly jobs: Map<JobId, JobRecord>;
  readonly roster: Roster;
  readonly standings: Standings;
  readonly trusting: Trusting;
}
