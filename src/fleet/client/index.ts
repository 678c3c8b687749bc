/** A fleet from outside: submitting jobs, their hits and progress, status. */
export { FleetClient, type PolledJob } from './client.js';
export { type FleetHit, FleetSearch, type FleetSearchOptions } from './fleet-search.js';
