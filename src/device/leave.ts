import type { Device } from './device.js';

/**
 * For a command at its end, instead of closing its devices. An H200's driver takes 100 ms to let go of a context when it
 * is asked to; Node then ends its threads one by one and takes its heaps apart. So where the process is the command's own,
 * it ends at once when all has been said: after the listeners of `exit`, and with its status. What the driver does when
 * its files are closed, which takes as long, is left to an heir (`heir.ts`): a `block solve` is gone 8 ms after its
 * answer; one that closes, after 100. Anywhere else devices are closed.
 */
export async function leaveDevices(devices: readonly Device[]): Promise<void> {
  const isAlone = isOwn && !isWatched();
  const mayLeave = (device: Device): boolean => isAlone && device.leave !== undefined;
  if (devices.some(mayLeave)) {
    const { quit } = await import('./native/libc.js');
    process.on('exit', (status) => quit(status));
  }
  await Promise.all(devices.map((device) => (mayLeave(device) ? device.leave?.() : device.close())));
}

/** Says that this process has one command to do, and ends with it. */
export function endWithCommand(): void {
  isOwn = true;
}

let isOwn = false;

/** Profilers, of Node's and of the driver's, write down what they have seen when a process comes to its end. */
function isWatched(): boolean {
  const { NODE_V8_COVERAGE, NODE_OPTIONS, CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH, LD_PRELOAD } = process.env;
  const watchers = [NODE_V8_COVERAGE, NODE_OPTIONS, CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH, LD_PRELOAD];
  return process.execArgv.length > 0 || watchers.some(Boolean);
}
