/**
 * Assigns chunks to slots. Each stream has several chunks in flight, each in a slot with its own buffers, so that the
 * device has the next chunk before the host has read the results of the last.
 */

/** Default: one running, one queued behind it, one whose results the host is reading. */
export const SLOTS_PER_STREAM = 3;
export const STREAMS = 2;

export interface Slot {
  readonly stream: number;
  /** Index among the stream's slots. */
  readonly place: number;
}

export interface Slots {
  readonly streams: number;
  readonly perStream: number;
  /** Number of chunks placed so far. */
  readonly turn: number;
  readonly free: readonly Slot[];
}

export function openSlots(streams: number = STREAMS, perStream: number = SLOTS_PER_STREAM): Slots {
  const places = Array.from({ length: perStream }, (_, place) => place);
  const free = places.flatMap((place) => Array.from({ length: streams }, (_, stream): Slot => ({ stream, place })));
  return { streams, perStream, turn: 0, free };
}

/**
 * Takes a slot for the next chunk. Chunk k goes to stream k mod streams. If that stream is full, the next stream with a
 * free slot gets the chunk, so that no stream idles. Undefined if all are full.
 */
export function takeSlot(slots: Slots): { readonly slot: Slot; readonly slots: Slots } | undefined {
  const { streams, turn, free } = slots;
  for (let step = 0; step < streams; step++) {
    const stream = (turn + step) % streams;
    const slot = free.find((candidate) => candidate.stream === stream);
    if (slot === undefined) continue;
    const rest = free.filter((other) => other !== slot);
    return { slot, slots: { streams, perStream: slots.perStream, turn: turn + step + 1, free: rest } };
  }
  return undefined;
}

/** Frees a slot after its results were read. It is reused after the slots that were freed before it. */
export function freeSlot(slots: Slots, { stream, place }: Slot): Slots {
  const { streams, perStream, turn, free } = slots;
  if (free.some((slot) => slot.stream === stream && slot.place === place)) return slots;
  return { streams, perStream, turn, free: [...free, { stream, place }] };
}
