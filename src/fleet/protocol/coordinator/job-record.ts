import type { SearchMode } from '../../../engine/makers/reorder-buffer.js';
import { Intervals } from '../../../engine/work/intervals.js';
import { endOf } from '../../../engine/work/space.js';
import { LeaseTable } from '../../lease/index.js';
import { JobTrust, Provenance, type Standings } from '../../trust/index.js';
import type { AddedJob, JobWork } from '../events.js';
import type { JobState, RunState, WorkerId } from '../messages.js';
import { newWork } from './contribution.js';
import type { GrantableJob } from './grants.js';
import { PAUSED, PRIORITY } from './state-keys.js';

/** A job as the coordinator knows it. */
export interface JobRecord extends GrantableJob {
  readonly mode: SearchMode;
  state: RunState;
  priority: number;
  readonly work: JobWork;
  /** Who has done what counts. */
  readonly provenance: Provenance;
  reopened: bigint;
  readonly refusals: Map<WorkerId, string>;
  rate: number;
  /** True if the ledger has a hit, also one from before this term. */
  hasHit: boolean;
}

/** Makes the record of a job, with what earlier coordinators have done and stored of it. */
export function newJobRecord(added: AddedJob, standings: Standings, random: () => number): JobRecord {
  const { id, space, mode, name, counted = Intervals.none, state = new Map() } = added;
  const hit = added.firstHit;
  const end = hit !== undefined && mode === 'first' ? hit + 1n : endOf(space);
  const trust = new JobTrust(standings, random, end);
  // What waits for audits is done, but not in the ledger.
  const unsettled = trust.restore(state, counted);
  const table = new LeaseTable(
    space,
    unsettled.reduce((done, range) => done.add(range), counted),
  );
  table.dropFrom(end);
  const { provenance = new Provenance() } = added;
  provenance.restore(state);
  const priority = state.get(PRIORITY) ?? added.priority;
  return {
    id,
    name,
    mode,
    priority: typeof priority === 'number' ? priority : 0,
    table,
    state: state.get(PAUSED) === true ? 'paused' : 'running',
    refusals: new Map(),
    rate: 0,
    lastGrant: 0,
    hasHit: hit !== undefined,
    work: newWork(),
    provenance,
    reopened: 0n,
    trust,
    witnesses: added.witnesses,
  };
}

/** What workers are told of a job. */
export const stateOf = ({ id, state, table }: JobRecord): JobState => ({ job: id, state, end: table.end });
