import type { Canary } from '../job.js';
import type { ChunkRecord } from '../telemetry/record.js';
import type { Piece } from '../work/space.js';
import type { Lane, LaneSlot } from './lane.js';
import type { Slot } from './slots.js';

/** What a run has a device do next. */
export interface Work {
  /** No two chunks have the same. */
  readonly id: number;
  readonly piece: Piece;
  readonly canary?: Canary<unknown>;
}

/** A chunk on its way through a device. */
export interface Chunk extends Omit<Work, 'canary'> {
  readonly canary: Canary<unknown> | undefined;
  readonly lane: Lane;
  /** Its buffers, which are the job's. */
  readonly slot: LaneSlot;
  /** Its place on the device, for which jobs take turns. */
  readonly place: Slot;
  readonly record: ChunkRecord | undefined;
  /** Its stream was cancelled while it was there. */
  isCancelled: boolean;
  /** The device is no longer used: whatever it still says is not heard. */
  isLost: boolean;
}
