/** Who takes part in a fleet: keys, users, revocation. */
export { Authority, type InviteTraits } from './authority.js';
export type { FleetUser } from './users.js';
