import type { FleetWorkload } from '../../fleet/workload.js';
import { fleetGaps } from '../../workload/gaps/job/fleet.js';

/** The workloads that run on fleets. */
export const workloads: readonly FleetWorkload[] = [fleetGaps];
