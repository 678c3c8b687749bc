import type { HostMemory } from './device.js';

/** False in a page that is not cross-origin isolated. */
export const hasSharedMemory = (): boolean => typeof SharedArrayBuffer !== 'undefined';

/** Allocates memory shared by all threads of the process; where there is none, memory of this thread. */
export const newMemory = (bytes: number): ArrayBufferLike =>
  hasSharedMemory() ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);

/** Host memory for devices that offer nothing faster. */
export function sharedMemory(bytes: number): HostMemory {
  return { bytes: new Uint8Array(newMemory(bytes)), locked: false, free: () => undefined };
}
