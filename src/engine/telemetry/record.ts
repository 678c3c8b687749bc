import type { ChunkPolicy } from '../feed/chunk-size.js';
import type { Piece } from '../work/space.js';

/** How a chunk ended. */
export type Outcome =
  | 'counted'
  | 'duplicate' // somebody else had done it by then
  | 'overflow' // more hits than its ring holds: run again in smaller pieces
  | 'cancelled' // stopped before its end: not counted
  | 'dropped' // its job, or its device, was over before it was looked at
  | 'wrong' // a result that the check refused, or a canary that was missed
  | 'failed' // the device said so
  | 'audit'; // a canary, found

/**
 * One chunk, from the moment it was taken: what every view of the pipeline is made from. Times are of `clockNs`, in the
 * order in which they stand here; 0 is one that never came. A class, so that all have one shape: made by spreading, an
 * object of so many fields takes 50 µs instead of 1.
 */
export class ChunkRecord implements Piece {
  readonly sequence: number;
  readonly start: bigint;
  readonly count: number;
  readonly job: string;
  readonly device: string;
  readonly stream: number;
  readonly slot: number;
  /** Why it has its size. */
  readonly policy: ChunkPolicy;
  /** The size that was meant: an end, or another device's part, may leave less. */
  readonly meant: number;
  /** Turns of other jobs that its job had waited. */
  readonly waitRounds: number;
  /** Jobs that had work for the device, and chunks in flight on it, this one included. */
  readonly active: number;
  readonly busy: number;
  /** Streams of the device with work, this one included. */
  readonly streams: number;
  /** Slots of its job that were free when it took one; 0 where it had to wait for one, */
  readonly free: number;
  /** for so long, while the device had room. */
  readonly starvedNs: bigint;
  /** The share of the device's threads that it can keep there, 0 to 1, where that is known. */
  readonly occupancy: number | undefined;
  /** Taken from the source. */
  readonly enqueuedNs: bigint;
  /** All of its commands queued. */
  submittedNs = 0n;
  /** Its first command given to the driver, where the device tells it; else no later than its start. */
  launchedNs = 0n;
  /** On the device. */
  startedNs = 0n;
  /** Its launches there, where the device tells them apart from copies. */
  computeStartedNs = 0n;
  computeEndedNs = 0n;
  endedNs = 0n;
  /** Seen by the device's thread, where there is one; else by the pipeline. */
  noticedNs = 0n;
  /** Its results read by the host. */
  reapedNs = 0n;
  /** Its results checked. */
  verifiedNs = 0n;
  /** Its results written down and told. */
  committedNs = 0n;
  bytesToDevice = 0;
  bytesToHost = 0;
  /** Waits in the driver that were noticed with it. */
  blockingWaits = 0;
  blockedNs = 0;
  /** Indices of it that count. */
  counted = 0;
  outcome: Outcome | undefined = undefined;

  constructor(sequence: number, given: NewRecord) {
    this.sequence = sequence;
    this.start = given.start;
    this.count = given.count;
    this.job = given.job;
    this.device = given.device;
    this.stream = given.stream;
    this.slot = given.slot;
    this.policy = given.policy;
    this.meant = given.meant;
    this.waitRounds = given.waitRounds;
    this.active = given.active;
    this.busy = given.busy;
    this.streams = given.streams;
    this.free = given.free;
    this.starvedNs = given.starvedNs;
    this.occupancy = given.occupancy;
    this.enqueuedNs = given.enqueuedNs;
  }
}

/** What is known of a chunk when it is taken. */
export type NewRecord = Omit<ChunkRecord, 'sequence' | Later>;
type Later =
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

/** The last so many chunks. With a capacity of 0 nothing is kept and nothing is made. */
export class Recorder {
  readonly capacity: number;
  readonly #records: ChunkRecord[] = [];
  readonly #listeners: ((record: Readonly<ChunkRecord>) => void)[] = [];
  #made = 0;
  #settled = 0;

  constructor(capacity = 0) {
    this.capacity = capacity;
  }

  get isOn(): boolean {
    return this.capacity > 0;
  }

  /** How many there have been, those that are gone included. */
  get made(): number {
    return this.#made;
  }

  /** Of these, how many have ended. */
  get settled(): number {
    return this.#settled;
  }

  /** Tells of each chunk once, when nothing more will come of it: also of those that the ring has no room for by then. */
  listen(listener: (record: Readonly<ChunkRecord>) => void): void {
    this.#listeners.push(listener);
  }

  add(record: NewRecord): ChunkRecord | undefined {
    if (this.capacity === 0) return undefined;
    const made = new ChunkRecord(this.#made, record);
    this.#records[this.#made % this.capacity] = made;
    this.#made++;
    return made;
  }

  /** Its outcome is known. With `counted`, what it was is still to be written down: then `settle` follows. */
  note(record: ChunkRecord, outcome: Outcome, counted = 0): void {
    if (record.outcome !== undefined) return;
    record.outcome = outcome;
    record.counted = counted;
    if (counted === 0) this.settle(record);
  }

  /** Nothing more will come of it. */
  settle(record: ChunkRecord): void {
    this.#settled++;
    for (const listener of this.#listeners) listener(record);
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
