export type { Exported } from './exchange.js';
export { type Identity, programText } from './identity.js';
export type { JobLedger, JobListener } from './job-ledger.js';
export type { JobCall, JobRecord, JobState, Request } from './jobs.js';
export type { JobSummary } from './ledger.js';
export type { Progress as StoredProgress, StoredHit } from './progress.js';
export { type JobSpec, openStore, type Store } from './store.js';
export { unspell } from './text.js';
export type { Tuning, TuningKey } from './tuning.js';
