export type { JobLedger, JobListener } from './client/job-ledger.js';
export { type JobSpec, openStore, openStoreIfPresent, type Store, type StoreOptions } from './client/store.js';
export { LedgerSource, partOf, type WorkLog, type WorkLogPart } from './client/work-log.js';
export { decode } from './encoding.js';
export { type Identity, jobKeyOf, programText } from './identity.js';
export type { ExportedJob } from './thread/exchange.js';
export {
  FINAL_STATES,
  type HitField,
  type JobCall,
  type JobRecord,
  type JobRequest,
  type JobState,
} from './thread/jobs.js';
export type { JobSummary } from './thread/ledger.js';
export type { HitPage, HitQuery, JobProgress as StoredProgress, StoredHit } from './thread/progress.js';
export type { StoredTuning, TuningKey, TuningResult } from './thread/tuning.js';
