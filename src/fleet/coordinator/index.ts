/** The machine that gives out ranges, checks hits and keeps the ledger. */
export { FleetFiles, readIdentity } from './files.js';
export { CoordinatorService } from './service.js';
