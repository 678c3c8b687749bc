/** Who says what to whom, and what follows: messages, and both sides as machines without clock, disk or network. */
export {
  decodeCoordinatorMessage,
  decodeResult,
  decodeWorkerMessage,
  encodeMessage,
  MAX_MESSAGE_BYTES,
} from './codec.js';
export { contributionMs } from './contribution.js';
export { Coordinator } from './coordinator.js';
export type * from './events.js';
export type * from './messages.js';
export { DEPARTED_MS } from './roster.js';
export { WORKERS } from './state-keys.js';
export { type Contribution, Worker } from './worker.js';
