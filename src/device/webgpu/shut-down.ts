import { holdExit, onProcessEnding } from '../pool/threads/hold-exit.js';

/** Destroying a device waits for its compiler, which on SwiftShader takes seconds for a long kernel. */
export const SHUTDOWN_MS = 30_000;

/**
 * For a thread that runs Dawn. Dawn's Node binding aborts the whole process ("Promise not resolved or rejected", or a
 * fatal error of Node-API) if its thread is ended, by `terminate()` or by the process's exit, while one of its promises
 * is open. So an exiting process waits for `shutDown`, after which no promise is open or will be opened: it destroys
 * the device, and open promises then settle within milliseconds.
 */
export function shutDownBeforeExit(shutDown: () => Promise<unknown>): void {
  const release = holdExit(SHUTDOWN_MS);
  onProcessEnding(() => void shutDown().then(release, release));
}
