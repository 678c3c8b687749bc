import { LIVE_STATES } from '../../../fleet/view/rows.js';
import type { ProcessModel } from '../reduce.js';
import type { FleetSummary } from '../state.js';

/** Undefined if the process does not coordinate a fleet. */
export function fleetSummaryOf({ fleet, state }: ProcessModel): FleetSummary | undefined {
  if (fleet === undefined || state.exit !== undefined) return undefined;
  const workers = LIVE_STATES.reduce((sum, one) => sum + fleet.states[one], 0);
  const jobs = fleet.jobs.filter((job) => job.state === 'running' || job.state === 'paused').length;
  return { key: fleet.fleet, pid: state.pid, workers, jobs };
}
