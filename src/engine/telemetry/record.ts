import type { ChunkPolicy } from '../feed/chunk-size.js';
import type { Piece } from '../work/space.js';

/** How a chunk ended. */
export type ChunkOutcome =
  | 'counted'
  | 'duplicate' // another chunk had already done its indices
  | 'overflow' // more hits than its ring holds: run again in smaller pieces
  | 'cancelled' // stopped before its end: not counted
  | 'dropped' // its job or its device ended before the result was read
  | 'wrong' // a result that the check refused, or a missed canary
  | 'failed' // the device reported an error
  | 'audit'; // a canary that was found

/**
 * The record of one chunk, the source of all telemetry. Times are of `clockNs`, in the order of the fields; 0 if the
 * step was not reached. A class, so that all records have one shape: an object with this many fields takes 50 µs to
 * make by spreading, instead of 1.
 */
export class ChunkRecord implements Piece {
  readonly sequence: number;
  readonly start: bigint;
  readonly count: number;
  readonly job: string;
  readonly device: string;
  readonly stream: number;
  readonly slot: number;
  /** The rule that set the size. */
  readonly policy: ChunkPolicy;
  /** The intended size. The end of a range, or another device's part, may leave less. */
  readonly meant: number;
  /** Turns of other jobs that its job had waited for. */
  readonly waitRounds: number;
  /** Jobs that had work for the device, and chunks in flight on it, including this one. */
  readonly active: number;
  readonly busy: number;
  /** Streams of the device with work, including this one. */
  readonly streams: number;
  /** Slots of its job that were free when it took one. 0 if it had to wait. */
  readonly free: number;
  /** How long it waited for a slot while the device had a free one. */
  readonly starvedNs: bigint;
  /** Share of the device's threads that it can keep resident, 0 to 1. Undefined if unknown. */
  readonly occupancy: number | undefined;
  /** Taken from the source. */
  readonly enqueuedNs: bigint;
  /** All of its commands queued. */
  submittedNs = 0n;
  /** Its first command passed to the driver, if the device reports it; otherwise a time not after its start. */
  launchedNs = 0n;
  /** On the device. */
  startedNs = 0n;
  /** Its launches, if the device reports them separately from copies. */
  computeStartedNs = 0n;
  computeEndedNs = 0n;
  endedNs = 0n;
  /** Completion seen by the device's thread if there is one, else by the pipeline. */
  noticedNs = 0n;
  /** Its results read by the host. */
  reapedNs = 0n;
  /** Its results checked. */
  verifiedNs = 0n;
  /** Its results stored and delivered. */
  committedNs = 0n;
  bytesToDevice = 0;
  bytesToHost = 0;
  /** Waits in the driver, counted since the chunk before. */
  blockingWaits = 0;
  blockedNs = 0;
  /** Indices of it that count. */
  counted = 0;
  outcome: ChunkOutcome | undefined = undefined;

  constructor(sequence: number, fields: NewRecord) {
    this.sequence = sequence;
    this.start = fields.start;
    this.count = fields.count;
    this.job = fields.job;
    this.device = fields.device;
    this.stream = fields.stream;
    this.slot = fields.slot;
    this.policy = fields.policy;
    this.meant = fields.meant;
    this.waitRounds = fields.waitRounds;
    this.active = fields.active;
    this.busy = fields.busy;
    this.streams = fields.streams;
    this.free = fields.free;
    this.starvedNs = fields.starvedNs;
    this.occupancy = fields.occupancy;
    this.enqueuedNs = fields.enqueuedNs;
  }
}

/** The fields known when a chunk is taken. */
export type NewRecord = Omit<ChunkRecord, 'sequence' | LaterField>;
type LaterField =
  | 'submittedNs'
  | 'launchedNs'
  | 'startedNs'
  | 'computeStartedNs'
  | 'computeEndedNs'
  | 'endedNs'
  | 'noticedNs'
  | 'reapedNs'
  | 'verifiedNs'
  | 'committedNs'
  | 'bytesToDevice'
  | 'bytesToHost'
  | 'blockingWaits'
  | 'blockedNs'
  | 'counted'
  | 'outcome';

/** Keeps the last `capacity` chunk records. With a capacity of 0 no records are made. */
export class Recorder {
  readonly capacity: number;
  readonly #records: ChunkRecord[] = [];
  readonly #listeners: ((record: Readonly<ChunkRecord>) => void)[] = [];
  #created = 0;
  #finalized = 0;

  constructor(capacity = 0) {
    this.capacity = capacity;
  }

  get isOn(): boolean {
    return this.capacity > 0;
  }

  /** Number of records made, including those no longer kept. */
  get createdCount(): number {
    return this.#created;
  }

  /** Number of records that are final. */
  get finalizedCount(): number {
    return this.#finalized;
  }

  /**
   * Registers a listener. It is called once per chunk, when its record is final, even if the ring no longer keeps the
   * record.
   */
  listen(listener: (record: Readonly<ChunkRecord>) => void): void {
    this.#listeners.push(listener);
  }

  add(record: NewRecord): ChunkRecord | undefined {
    if (this.capacity === 0) return undefined;
    const created = new ChunkRecord(this.#created, record);
    this.#records[this.#created % this.capacity] = created;
    this.#created++;
    return created;
  }

  /** Sets the outcome. If `counted` is not 0, the results are still to be stored, and `finalize` follows. */
  setOutcome(record: ChunkRecord, outcome: ChunkOutcome, counted = 0): void {
    if (record.outcome !== undefined) return;
    record.outcome = outcome;
    record.counted = counted;
    if (counted === 0) this.finalize(record);
  }

  /** Marks the record as final and notifies the listeners. */
  finalize(record: ChunkRecord): void {
    this.#finalized++;
    for (const listener of this.#listeners) listener(record);
  }

  /** Oldest first. */
  *[Symbol.iterator](): Generator<Readonly<ChunkRecord>> {
    const kept = Math.min(this.#created, this.capacity);
    for (let at = this.#created - kept; at < this.#created; at++) {
      const record = this.#records[at % this.capacity];
      if (record) yield record;
    }
  }
}
