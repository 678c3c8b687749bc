import type { FleetWorkload } from '../../../fleet/workload.js';

/** Workloads that run in a page, besides users' kernels. The fleet gives it no jobs of others. */
export const pageWorkloads: readonly FleetWorkload[] = [];
