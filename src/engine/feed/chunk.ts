import type { Canary } from '../job.js';
import type { ChunkRecord } from '../telemetry/record.js';
import type { Piece } from '../work/space.js';
import type { Lane, LaneSlot } from './lane.js';
import type { StreamSlot } from './slots.js';

/** The next chunk that a run gives to a device. */
export interface PlannedChunk {
  /** Unique in the process. */
  readonly id: number;
  readonly piece: Piece;
  readonly canary?: Canary<unknown>;
}

/** A chunk that was submitted to a device. */
export interface Chunk extends Omit<PlannedChunk, 'canary'> {
  readonly canary: Canary<unknown> | undefined;
  readonly lane: Lane;
  /** The chunk's buffers, which belong to the job. */
  readonly slot: LaneSlot;
  /** The chunk's slot on the device. Jobs take turns for these. */
  readonly streamSlot: StreamSlot;
  readonly record: ChunkRecord | undefined;
  /** True if its stream was cancelled while the chunk was in flight. */
  isCancelled: boolean;
  /** True if the device is no longer used. Later reports about the chunk are ignored. */
  isLost: boolean;
}
