import type { HostMemory } from './device.js';

/** Allocates memory shared by all threads of the process, for devices that offer nothing faster. */
export function sharedMemory(bytes: number): HostMemory {
  return { bytes: new Uint8Array(new SharedArrayBuffer(bytes)), locked: false, free: () => undefined };
}
