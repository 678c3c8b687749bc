/** Leases: which worker has which indices, how many, and for how long. */
export { type FinishedRange, type Lease, LeaseTable, type Overtaken } from './lease-table.js';
export { PriorityIndex } from './priority-index.js';
export { beatMs, FIRST_LENGTH, leaseLength, leaseMs, retryMs, silenceMs } from './sizing.js';
