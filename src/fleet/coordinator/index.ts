/** The machine that gives out ranges, checks hits and keeps the ledger. */
export { AccessControl } from './access-control.js';
export { FleetHost, type FleetHostOptions, type GivenServer, type PrivateServerPlace } from './fleet-host.js';
export { CoordinatedFleet } from './live-fleet.js';
export { CoordinatorService } from './service.js';
