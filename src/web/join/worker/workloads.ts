import type { FleetWorkload } from '../../../fleet/workload.js';
import { fleetBlock } from '../../../workload/block/job/fleet.js';
import { fleetGaps } from '../../../workload/gaps/job/fleet.js';
import { uhashWorkload } from '../../../workload/uhash/job/fleet.js';

/** uhash takes 2 MiB for each nonce, and on a GPU as many nonces as it has memory for: in a page, 1 GiB at most. */
const MAX_NONCES = 510;

/** Workloads that run in a page, besides users' kernels. The fleet gives it no jobs of others. */
export const pageWorkloads: readonly FleetWorkload[] = [
  fleetBlock,
  fleetGaps,
  uhashWorkload(async ({ info }) => (info.processor === 'gpu' ? { batch: MAX_NONCES } : {})),
];
