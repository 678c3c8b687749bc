/**
 * Which chunk goes where on a device. Every stream holds several chunks in flight, each in a slot with buffers of its
 * own, so that the device has the next chunk before the host has looked at the last.
 */

/** The default: one running, one queued behind it, one whose results the host is looking at. */
export const SLOTS_PER_STREAM = 3;
export const STREAMS = 2;

export interface Slot {
  readonly stream: number;
  /** Which of the stream's slots. */
  readonly place: number;
}

export interface Slots {
  readonly streams: number;
  readonly perStream: number;
  /** How many chunks were put in so far. */
  readonly turn: number;
  readonly free: readonly Slot[];
}

export function openSlots(streams: number = STREAMS, perStream: number = SLOTS_PER_STREAM): Slots {
  const places = Array.from({ length: perStream }, (_, place) => place);
  const free = places.flatMap((place) => Array.from({ length: streams }, (_, stream): Slot => ({ stream, place })));
  return { streams, perStream, turn: 0, free };
}

/**
 * A slot for the next chunk: chunk k goes to stream k mod streams. When that stream is full the next one with room gets
 * it: no stream is waited for while another could work. Undefined when all are full.
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

/** The slot's results have been read: it can take another chunk, after those that became free before it. */
export function freeSlot(slots: Slots, { stream, place }: Slot): Slots {
  const { streams, perStream, turn, free } = slots;
  if (free.some((slot) => slot.stream === stream && slot.place === place)) return slots;
  return { streams, perStream, turn, free: [...free, { stream, place }] };
}
