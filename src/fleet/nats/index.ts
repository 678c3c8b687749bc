/** NATS: the connection, the private server, invites. */
export { Bus, type FleetSubject, type StoredResult } from './bus.js';
export { formatInvite, type Invite, parseInvite } from './invite.js';
export { PrivateServer } from './server.js';
