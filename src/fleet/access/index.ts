/** Who takes part in a fleet: keys, users, revocation, certificates. */
export { Authority, type InviteTraits } from './authority.js';
export { givenTls, ownTls, readCa, type ServerTls } from './tls-files.js';
export { type FleetUser, readUser } from './users.js';
