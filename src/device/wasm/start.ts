import type { WasmMemory } from './api.js';

/** A worker's start data. */
export interface WasmWorkerStart {
  readonly memory: WasmMemory;
  readonly threads: number;
  /** The worker's number, from 0. */
  readonly index: number;
  /** The address of the numbers of unloaded programs (`closed-programs.ts`). */
  readonly closedAddress: number;
}

/**
 * A program's record in device memory, which a launch names as its entry: the address and size of its module's bytes,
 * the address of its constants, the address of the threads' own memory, and the size per thread.
 */
export const RECORD_WORDS = 5;
