import type { PlannedChunk } from '../feed/chunk.js';
import type { Lane } from '../feed/lane.js';
import { type Average, NO_AVERAGE, observe } from '../feed/throughput.js';
import type { Job } from '../job.js';
import { sizeForRing } from '../makers/reorder-buffer.js';
import type { InFlightChunk } from '../work/coverage.js';
import { MAX_INDICES, type Range } from '../work/space.js';
import type { WorkTracker } from '../work/tracker.js';
import { chooseVictim, type DeviceLoad, tailSize, type Victim } from './balance.js';
import { partsOf } from './partition.js';

/**
 * Chooses the next piece of a job for a device, sized by the device's speed, the work left, and the hits that fit its
 * ring.
 */
export class Dispatcher {
  readonly #job: Job<unknown>;
  readonly #tracker: WorkTracker;
  #hitsPerItem: Average = NO_AVERAGE;
  /** Each device's part, if the job is partitioned. */
  #parts: ReadonlyMap<Lane, Range> | undefined;

  constructor(job: Job<unknown>, tracker: WorkTracker) {
    this.#job = job;
    this.#tracker = tracker;
  }

  /** Records hit density. An overflowing chunk counts with full weight, so that the next chunk is small enough. */
  recordHits(hits: number, items: number, hasOverflowed = false): void {
    this.#hitsPerItem = observe(this.#hitsPerItem, hits / items, hasOverflowed ? 1 : undefined);
  }

  /** Leases enough ranges from the source for the next free slots of `devices` devices. */
  lease(wanted: number, devices: number): void {
    this.#tracker.lease(this.#job.partition ? MAX_INDICES : BigInt(wanted) * BigInt(LEASE_AHEAD_CHUNKS * devices));
  }

  /**
   * Returns the next chunk for `lane`. `lanes` are the devices on the job. `isInFlight` is true for this job's chunks.
   */
  next(lane: Lane, lanes: ReadonlySet<Lane>, isInFlight: (id: number) => boolean): PlannedChunk | undefined {
    const job = this.#job;
    const hitLimit = job.hits ? sizeForRing(this.#hitsPerItem.value, job.hits.capacity) : Number.POSITIVE_INFINITY;
    const wanted = lane.round(Math.min(lane.next.size, hitLimit));
    this.lease(wanted, lanes.size);
    const backlog = job.backlog?.() ?? 'none';
    const isFull = backlog === 'held';
    if (backlog === 'unread' || (isFull && !this.#tracker.isFrontierWaiting)) return undefined;
    // The lowest unfinished range goes first, regardless of whose part it is in.
    const own = isFull ? undefined : this.#fromParts(lane, lanes, wanted);
    const isOwnOnly = this.#parts !== undefined && !isFull && job.partition?.steal === false;
    const chunk = own ?? (isOwnOnly ? undefined : this.#pull(lane, lanes, wanted, isInFlight));
    return chunk && { id: chunk.id, piece: { start: chunk.start, count: chunk.count } };
  }

  /** Takes from the device's own part, then from parts whose device is lost, stalled or paused. */
  #fromParts(lane: Lane, lanes: ReadonlySet<Lane>, wanted: number): InFlightChunk | undefined {
    const { partition } = this.#job;
    if (partition === undefined) return undefined;
    this.#parts ??= partsOf(partition.by, [...lanes], this.#tracker.todo);
    const parts = [...(this.#parts ?? [])];
    const isOwn = ([owner]: (typeof parts)[number]): boolean => owner === lane;
    const isLeft = ([owner]: (typeof parts)[number]): boolean => !lanes.has(owner) || isUnavailable(owner);
    for (const [, part] of [...parts.filter(isOwn), ...parts.filter(isLeft)]) {
      const taken = this.#tracker.take(lane.device, wanted, part);
      if (taken) return taken;
    }
    return undefined;
  }

  #pull(
    lane: Lane,
    lanes: ReadonlySet<Lane>,
    wanted: number,
    isInFlight: (id: number) => boolean,
  ): InFlightChunk | undefined {
    const loads = [...lanes].filter((other) => other === lane || !isUnavailable(other)).map(loadOf);
    const size = tailSize(loadOf(lane), loads, Number(this.#tracker.waiting), wanted);
    const taken = size > 0 ? this.#tracker.take(lane.device, lane.round(size)) : undefined;
    return taken ?? this.#duplicate(lane, lanes, wanted, isInFlight);
  }

  /** Duplicates a slower device's chunk once no work is left to hand out. */
  #duplicate(
    lane: Lane,
    lanes: ReadonlySet<Lane>,
    wanted: number,
    isInFlight: (id: number) => boolean,
  ): InFlightChunk | undefined {
    const { perMs } = lane;
    // A part of an indivisible chunk would not count if the chunk ends first, nor the chunk if the part does.
    if (perMs === undefined || this.#job.isIndivisible || !this.#tracker.isHandedOut || lanes.size < 2)
      return undefined;
    const victims: Victim[] = [];
    for (const { pipeline } of lanes) {
      if (pipeline === lane.pipeline) continue;
      for (const [id, endMs] of pipeline.expectedEnds()) {
        if (isInFlight(id)) victims.push({ id, count: this.#tracker.unsharedCount(id), endMs });
      }
    }
    const victim = chooseVictim(perMs, lane.items / perMs, victims);
    return victim && this.#tracker.duplicate(lane.device, wanted, victim.id);
  }
}

/** Chunks per device to lease ahead. */
const LEASE_AHEAD_CHUNKS = 8;

/** True while a device takes no chunks. The other devices then plan without it. */
export const isUnavailable = ({ pipeline }: Lane): boolean => pipeline.isStalled || pipeline.utilization.isPaused;

const loadOf = ({ device, perMs, items, minItems }: Lane): DeviceLoad => ({ device, perMs, items, minItems });
