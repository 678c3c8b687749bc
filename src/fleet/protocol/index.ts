/** Who says what to whom, and what follows: messages, and both sides as machines without clock, disk or network. */
export {
  decodeCoordinatorMessage,
  decodeResult,
  decodeWorkerMessage,
  encodeMessage,
  MAX_MESSAGE_BYTES,
  senderOfOtherVersion,
} from './codec.js';
export { contributionMs } from './coordinator/contribution.js';
export { Coordinator } from './coordinator/coordinator.js';
export { DEPARTED_MS } from './coordinator/roster.js';
export { WORKERS } from './coordinator/state-keys.js';
export type * from './events.js';
export type * from './messages.js';
export { type ProtocolVersions, VERSIONS } from './versions.js';
export type { Contribution } from './worker/outbox.js';
export { Worker } from './worker/worker.js';
