import { phasesOf } from './overlap.js';
import type { ChunkOutcome, ChunkRecord } from './record.js';

/** Totals of a device's chunks. They are updated as chunks end, so that they do not depend on the ring's capacity. */
export class DeviceTally {
  readonly device: string;
  readonly outcomes = new Map<ChunkOutcome, number>();
  /** Indices that count. */
  items = 0n;
  /** Chunks smaller than intended: the last of a range, or cut for another device. */
  partial = 0;
  /** Nanoseconds, summed over chunks: overlapping times count several times. */
  readonly ns = {
    /** From when the chunk was taken to when the driver got its first command. */
    queued: 0,
    /** From there to its start on the device. */
    waited: 0,
    device: 0,
    compute: 0,
    copy: 0,
    /** From its end to when that was noticed, and from there to when its results were read. */
    unseen: 0,
    reap: 0,
    verify: 0,
    commit: 0,
    starved: 0,
    blocked: 0,
  };
  starved = 0;
  blockingWaits = 0;
  bytesToDevice = 0;
  bytesToHost = 0;
  /** Chunks by the number of chunks on the device at submission, including themselves. */
  readonly depths: number[] = [];
  /** Chunks by their seconds on the device. */
  readonly seconds = new Histogram(CHUNK_SECONDS);

  constructor(device: string) {
    this.device = device;
  }

  add(record: Readonly<ChunkRecord>): void {
    const { outcome = 'dropped' } = record;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    this.items += BigInt(record.counted);
    if (record.count < record.meant) this.partial++;
    if (record.starvedNs > 0n) this.starved++;
    this.blockingWaits += record.blockingWaits;
    this.bytesToDevice += record.bytesToDevice;
    this.bytesToHost += record.bytesToHost;
    this.depths[record.busy] = (this.depths[record.busy] ?? 0) + 1;
    this.#addTimes(record);
  }

  #addTimes(record: Readonly<ChunkRecord>): void {
    const { ns } = this;
    ns.starved += Number(record.starvedNs);
    ns.blocked += record.blockedNs;
    if (record.endedNs === 0n) return;
    const deviceNs = elapsedNs(record.startedNs, record.endedNs);
    ns.queued += elapsedNs(record.enqueuedNs, record.launchedNs);
    ns.waited += elapsedNs(record.launchedNs, record.startedNs);
    ns.device += deviceNs;
    this.seconds.add(deviceNs / 1e9);
    const phases = phasesOf(record);
    ns.compute += phases ? elapsedNs(phases.compute.startedNs, phases.compute.endedNs) : deviceNs;
    for (const { startedNs, endedNs } of phases?.copies ?? []) ns.copy += elapsedNs(startedNs, endedNs);
    ns.unseen += elapsedNs(record.endedNs, record.noticedNs);
    ns.reap += elapsedNs(record.noticedNs, record.reapedNs);
    ns.verify += elapsedNs(record.reapedNs, record.verifiedNs);
    ns.commit += elapsedNs(record.verifiedNs, record.committedNs);
  }
}

/** The tallies of all devices that have had a chunk. */
export class Tally {
  readonly #devices = new Map<string, DeviceTally>();

  add(record: Readonly<ChunkRecord>): void {
    this.of(record.device).add(record);
  }

  of(device: string): DeviceTally {
    const tally = this.#devices.get(device) ?? new DeviceTally(device);
    this.#devices.set(device, tally);
    return tally;
  }

  [Symbol.iterator](): Iterator<DeviceTally> {
    return this.#devices.values();
  }
}

/** Bounds of chunk times: from 0.1 ms to the longest allowed, and one step beyond. */
const CHUNK_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5];

/** Counts by upper bound, as in Prometheus: each bound counts all values not above it. */
class Histogram {
  readonly bounds: readonly number[];
  readonly #counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.sum += value;
    this.count++;
    const at = this.bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  /** Cumulative count for each bound. */
  get cumulative(): number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }
}

/** Returns the nanoseconds between two moments. 0 if either never came, or if the clocks disagree. */
function elapsedNs(from: bigint, to: bigint): number {
  return from === 0n || to <= from ? 0 : Number(to - from);
}
