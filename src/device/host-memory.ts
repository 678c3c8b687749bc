import type { HostMemory } from './device.js';

/** Memory that all threads of the process share, for devices that have no other to offer. */
export function sharedMemory(bytes: number): HostMemory {
  return { bytes: new Uint8Array(new SharedArrayBuffer(bytes)), locked: false, free: () => undefined };
}
