import type { Job } from '../job.js';
import type { Chunk, PlannedChunk } from './chunk.js';
import type { Lane } from './lane.js';

/** The run whose chunks a pipeline executes: what the pipeline asks the run, and what it reports to it. */
export interface ChunkOwner {
  readonly id: string;
  readonly job: Job<unknown>;
  /** Returns the next chunk for a lane. Undefined if there is none at the moment. */
  next(lane: Lane): PlannedChunk | undefined;
  /** True while the chunk's result would count. */
  needs(chunk: Chunk): boolean;
  /** The chunk was submitted to its device. */
  submitted(chunk: Chunk): void;
  /** The chunk has left its device. */
  leftDevice(chunk: Chunk): void;
  /** The chunk was cancelled or its device failed. None of its indices count. */
  returned(chunk: Chunk): void;
  /** The chunk's result cannot be right. */
  resultInvalid(chunk: Chunk, error: unknown): void;
  /** The chunk is overdue. */
  overdue(chunk: Chunk): void;
  /** The chunk is complete. Settles when its result has been checked; never rejects. */
  completed(chunk: Chunk, result: unknown, release: () => void): Promise<void>;
  /** Ends the run with an error. */
  fail(error: unknown): void;
}
