/**
 * Assigns chunks to slots. Each stream has several chunks in flight, each in a slot with its own buffers, so that the
 * device has the next chunk before the host has read the results of the last.
 */

/** Default: one running, one queued behind it, one whose results the host is reading. */
export const SLOTS_PER_STREAM = 3;
export const STREAMS = 2;

export interface StreamSlot {
  readonly stream: number;
  /** Index among the stream's slots. */
  readonly index: number;
}

export interface SlotPool {
  readonly streams: number;
  readonly perStream: number;
  /** Number of chunks placed so far. */
  readonly chunksPlaced: number;
  readonly free: readonly StreamSlot[];
}

export function openSlotPool(streams: number = STREAMS, perStream: number = SLOTS_PER_STREAM): SlotPool {
  const indices = Array.from({ length: perStream }, (_, index) => index);
  const free = indices.flatMap((index) =>
    Array.from({ length: streams }, (_, stream): StreamSlot => ({ stream, index })),
  );
  return { streams, perStream, chunksPlaced: 0, free };
}

/**
 * Takes a slot for the next chunk. Chunk k goes to stream k mod streams. If that stream is full, the next stream with a
 * free slot gets the chunk, so that no stream idles. Undefined if all are full.
 */
export function takeSlot(slots: SlotPool): { readonly slot: StreamSlot; readonly slots: SlotPool } | undefined {
  const { streams, chunksPlaced, free } = slots;
  for (let step = 0; step < streams; step++) {
    const stream = (chunksPlaced + step) % streams;
    const slot = free.find((candidate) => candidate.stream === stream);
    if (slot === undefined) continue;
    const rest = free.filter((other) => other !== slot);
    return { slot, slots: { streams, perStream: slots.perStream, chunksPlaced: chunksPlaced + step + 1, free: rest } };
  }
  return undefined;
}

/** Frees a slot after its results were read. It is reused after the slots that were freed before it. */
export function freeSlot(slots: SlotPool, { stream, index }: StreamSlot): SlotPool {
  const { streams, perStream, chunksPlaced, free } = slots;
  if (free.some((slot) => slot.stream === stream && slot.index === index)) return slots;
  return { streams, perStream, chunksPlaced, free: [...free, { stream, index }] };
}
