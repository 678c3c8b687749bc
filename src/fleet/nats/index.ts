/** NATS: the connection, the private server, subjects, invites. */
export { AccountUpdates } from './accounts.js';
export { Bus, type StoredResult } from './bus.js';
export { checkRemoteServer } from './connection.js';
export { type Credentials, checkExpiry, formatInvite, type Invite, isInvite, parseInvite } from './invite.js';
export {
  checkVersion,
  externalAddresses,
  hasKnownHoles,
  isLoopback,
  isWildcard,
  type ListenAddress,
  ownHost,
  parseListenAddress,
  urlHost,
} from './listening.js';
export { Liveness } from './liveness.js';
export { type FleetSubject, inboxOf, MemberBus } from './member-bus.js';
export { loadJwt } from './packages.js';
export { PrivateServer } from './server.js';
export { type CommitLog, replacedError } from './streams/commit-log.js';
export type { LogFrame } from './streams/log-frames.js';
export { type Caller, INVITED_ROLES, isUserName, permissionsOf, type Role } from './subjects.js';
