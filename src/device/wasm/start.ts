import type { Memory } from './api.js';

/** What a worker is started with. */
export interface WorkerStart {
  readonly memory: Memory;
  readonly threads: number;
  /** Which of them it is, from 0. */
  readonly index: number;
  /** Where the numbers of unloaded programs are (`closed-programs.ts`). */
  readonly closedAt: number;
}

/**
 * A program's record in device memory, which a launch names as its entry: where its module's bytes are, how many, where
 * its constants go, where the threads' own memory begins, and how much of that each has.
 */
export const RECORD_WORDS = 5;
