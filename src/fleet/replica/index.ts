/** What a machine knows of a fleet for good, and the log of records that change it: the leader's, and each standby's. */
export { copyCoordinator } from './copy.js';
export { FleetFiles, readIdentity } from './files.js';
export type { FleetJob } from './fleet-job.js';
export { Follower, RENEW_MS, TERM_MS } from './follower.js';
export { encodeRecord, type FleetRecord } from './records.js';
export { Replica } from './replica.js';
