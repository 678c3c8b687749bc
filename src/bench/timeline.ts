import type { ChunkRecord } from '../engine/index.js';

/** A section of a job on one device, chunk by chunk. Times are microseconds from the first start. */
export interface Timeline {
  readonly workload: string;
  readonly device: string;
  readonly chunks: readonly TimelineChunk[];
}

export interface TimelineChunk {
  /** Numbered over all streams of the device. */
  readonly slot: number;
  readonly submitted: number;
  readonly started: number;
  readonly ended: number;
  readonly reaped: number;
}

/** Enough to see whether each chunk starts when the previous one ends. */
const CHUNKS = 16;

/** Returns chunks that count from the middle of a job, where it neither starts nor ends. */
export function middleChunks(records: Iterable<Readonly<ChunkRecord>>): TimelineChunk[] {
  const done = [...records].filter(({ outcome }) => outcome === 'counted');
  const from = Math.max(0, Math.floor((done.length - CHUNKS) / 2));
  const chunks = done.slice(from, from + CHUNKS).sort((a, b) => Number(a.startedNs - b.startedNs));
  const origin = chunks.reduce(
    (first, { startedNs }) => (startedNs < first ? startedNs : first),
    chunks[0]?.startedNs ?? 0n,
  );
  const slots = [...new Set(chunks.map(slotOf))].sort((a, b) => a - b);
  const at = (ns: bigint): number => Number(ns - origin) / 1000;
  return chunks.map((one) => ({
    slot: slots.indexOf(slotOf(one)),
    submitted: at(one.submittedNs),
    started: at(one.startedNs),
    ended: at(one.endedNs),
    reaped: at(one.reapedNs),
  }));
}

/** Slots are numbered by stream; a device has at most 32 of each. */
const slotOf = ({ stream, slot }: Readonly<ChunkRecord>): number => stream * 64 + slot;
