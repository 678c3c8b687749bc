import type { FleetWorkload } from '../../fleet/workload.js';
import { fleetBlock } from '../../workload/block/job/fleet.js';
import { fleetGaps } from '../../workload/gaps/job/fleet.js';
import { fleetUhash } from '../../workload/uhash/job/fleet.js';

/** The workloads that run on fleets. */
export const workloads: readonly FleetWorkload[] = [fleetBlock, fleetGaps, fleetUhash];
