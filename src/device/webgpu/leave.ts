import { stay, whenEnding } from '../pool/threads/stay.js';

/** Destroying a device waits for its compiler, which on SwiftShader takes seconds for a long kernel. */
export const LEAVE_MS = 30_000;

/**
 * In a thread with Dawn in it. Dawn's Node binding ends the whole process (abort: "Promise not resolved or rejected", or a
 * fatal error of Node-API) when its thread is ended, by `terminate()` or by the process's own end, while one of its
 * promises is open. So a process that is about to end waits for `leave`, after which no promise is open, and none will be:
 * it destroys the device, upon which open promises settle within some milliseconds.
 */
export function leaveInTime(leave: () => Promise<unknown>): void {
  const left = stay(LEAVE_MS);
  whenEnding(() => void leave().then(left, left));
}
