import type { ChunkPolicy } from './chunk.js';
import type { Piece } from './space.js';

/** How a chunk ended. */
export type Outcome =
  | 'counted'
  | 'duplicate' // somebody else had done it by then
  | 'overflow' // more hits than its ring holds: run again in smaller pieces
  | 'cancelled' // stopped before its end: not counted
  | 'wrong' // a result that the check refused, or a canary that was missed
  | 'failed' // the device said so
  | 'audit'; // a canary, found

/** One chunk, from the moment it was taken: what every view of the pipeline is made from. Times are of `clockNs`. */
export interface ChunkRecord extends Piece {
  readonly sequence: number;
  readonly job: string;
  readonly device: string;
  readonly stream: number;
  readonly slot: number;
  /** Why it has its size. */
  readonly policy: ChunkPolicy;
  /** Turns of other jobs that its job had waited. */
  readonly waitRounds: number;
  /** Jobs that had work for the device, and chunks in flight on it, this one included. */
  readonly active: number;
  readonly busy: number;
  /** Taken from the source. */
  readonly enqueuedNs: bigint;
  /** All of its commands queued. */
  submittedNs: bigint;
  /** On the device. */
  startedNs: bigint;
  endedNs: bigint;
  /** Its results read by the host. */
  reapedNs: bigint;
  /** Its results checked. */
  verifiedNs: bigint;
  outcome: Outcome | undefined;
}

/** The last so many chunks. With a capacity of 0 nothing is kept and nothing is made. */
export class Recorder {
  readonly capacity: number;
  readonly #records: ChunkRecord[] = [];
  #made = 0;

  constructor(capacity = 0) {
    this.capacity = capacity;
  }

  /** How many there have been, those that are gone included. */
  get made(): number {
    return this.#made;
  }

  add(record: Omit<ChunkRecord, 'sequence' | TimeField | 'outcome'>): ChunkRecord | undefined {
    if (this.capacity === 0) return undefined;
    const unknown = { submittedNs: 0n, startedNs: 0n, endedNs: 0n, reapedNs: 0n, verifiedNs: 0n, outcome: undefined };
    const made: ChunkRecord = { ...record, sequence: this.#made, ...unknown };
    this.#records[this.#made % this.capacity] = made;
    this.#made++;
    return made;
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<Readonly<ChunkRecord>> {
    const kept = Math.min(this.#made, this.capacity);
    for (let at = this.#made - kept; at < this.#made; at++) {
      const record = this.#records[at % this.capacity];
      if (record) yield record;
    }
  }
}

type TimeField = 'submittedNs' | 'startedNs' | 'endedNs' | 'reapedNs' | 'verifiedNs';
