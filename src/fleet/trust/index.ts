/** Which results of workers that are not trusted count: witnesses, audits, canaries, revocation. Without clock or network. */
export type { Piece, Proof } from './audit.js';
export type { Contribution, Report } from './contribution.js';
export { JobTrust, PROGRESS_MS } from './job-trust.js';
export { Provenance, type WorkerPart } from './provenance.js';
export { type Identity, type Standing, Standings } from './standing.js';
export { isProvenanceKey, isTrustKey, namesWorker, type StoredChanges, type StoredValues } from './stored.js';
export { MAX_BITS, witnessBits } from './witness.js';
