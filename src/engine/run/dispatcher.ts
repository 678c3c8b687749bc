import type { Work } from '../feed/chunk.js';
import type { Lane } from '../feed/lane.js';
import { type Average, NO_AVERAGE, observe } from '../feed/throughput.js';
import type { Job } from '../job.js';
import { sizeForRing } from '../makers/harvest.js';
import type { Flight } from '../work/coverage.js';
import { MOST_INDICES, type Range } from '../work/space.js';
import type { Account } from '../work/tracker.js';
import { chooseVictim, type Load, tailSize, type Victim } from './balance.js';
import { partsOf } from './partition.js';

/**
 * Chooses the next piece of a job for a device, sized by the device's speed, the work left, and the hits that fit its
 * ring.
 */
export class Handout {
  readonly #job: Job<unknown>;
  readonly #account: Account;
  #hitsPerItem: Average = NO_AVERAGE;
  /** Each device's part, if the job is partitioned. */
  #parts: ReadonlyMap<Lane, Range> | undefined;

  constructor(job: Job<unknown>, account: Account) {
    this.#job = job;
    this.#account = account;
  }

  /** Records hit density. An overflowing chunk counts with full weight, so that the next chunk is small enough. */
  found(hits: number, items: number, hasOverflowed = false): void {
    this.#hitsPerItem = observe(this.#hitsPerItem, hits / items, hasOverflowed ? 1 : undefined);
  }

  /** Leases enough ranges from the source for the next free slots of `devices` devices. */
  lease(wanted: number, devices: number): void {
    this.#account.lease(this.#job.partition ? MOST_INDICES : BigInt(wanted) * BigInt(AHEAD * devices));
  }

  /**
   * Returns the next chunk for `lane`. `lanes` are the devices on the job. `isFlying` is true for this job's chunks.
   */
  next(lane: Lane, lanes: ReadonlySet<Lane>, isFlying: (id: number) => boolean): Work | undefined {
    const job = this.#job;
    const room = job.hits ? sizeForRing(this.#hitsPerItem.value, job.hits.room) : Number.POSITIVE_INFINITY;
    const wanted = lane.round(Math.min(lane.next.size, room));
    this.lease(wanted, lanes.size);
    const backlog = job.backlog?.() ?? 'none';
    const isFull = backlog === 'held';
    if (backlog === 'unread' || (isFull && !this.#account.isFrontierWaiting)) return undefined;
    // The lowest unfinished range goes first, regardless of whose part it is in.
    const own = isFull ? undefined : this.#fromParts(lane, lanes, wanted);
    const isOwnOnly = this.#parts !== undefined && !isFull && job.partition?.steal === false;
    const flight = own ?? (isOwnOnly ? undefined : this.#pull(lane, lanes, wanted, isFlying));
    return flight && { id: flight.id, piece: { start: flight.start, count: flight.count } };
  }

  /** Takes from the device's own part, then from parts whose device is lost, stalled or paused. */
  #fromParts(lane: Lane, lanes: ReadonlySet<Lane>, wanted: number): Flight | undefined {
    const { partition } = this.#job;
    if (partition === undefined) return undefined;
    this.#parts ??= partsOf(partition.by, [...lanes], this.#account.todo);
    const parts = [...(this.#parts ?? [])];
    const isOwn = ([owner]: (typeof parts)[number]): boolean => owner === lane;
    const isLeft = ([owner]: (typeof parts)[number]): boolean => !lanes.has(owner) || isAway(owner);
    for (const [, part] of [...parts.filter(isOwn), ...parts.filter(isLeft)]) {
      const taken = this.#account.take(lane.device, wanted, part);
      if (taken) return taken;
    }
    return undefined;
  }

  #pull(lane: Lane, lanes: ReadonlySet<Lane>, wanted: number, isFlying: (id: number) => boolean): Flight | undefined {
    const loads = [...lanes].filter((one) => one === lane || !isAway(one)).map(loadOf);
    const most = tailSize(loadOf(lane), loads, Number(this.#account.waiting), wanted);
    const taken = most > 0 ? this.#account.take(lane.device, lane.round(most)) : undefined;
    return taken ?? this.#double(lane, lanes, wanted, isFlying);
  }

  /** Duplicates a slower device's chunk once no work is left to hand out. */
  #double(lane: Lane, lanes: ReadonlySet<Lane>, wanted: number, isFlying: (id: number) => boolean): Flight | undefined {
    const { perMs } = lane;
    if (perMs === undefined || !this.#account.isHandedOut || lanes.size < 2) return undefined;
    const victims: Victim[] = [];
    for (const { pipeline } of lanes) {
      if (pipeline === lane.pipeline) continue;
      for (const [id, endMs] of pipeline.expectedEnds()) {
        if (isFlying(id)) victims.push({ id, count: this.#account.soleCount(id), endMs });
      }
    }
    const victim = chooseVictim(perMs, lane.items / perMs, victims);
    return victim && this.#account.double(lane.device, wanted, victim.id);
  }
}

/** Chunks per device to lease ahead. */
const AHEAD = 8;

/** True while a device takes no chunks. The other devices then plan without it. */
export const isAway = ({ pipeline }: Lane): boolean => pipeline.isStalled || pipeline.fed.isPaused;

const loadOf = ({ device, perMs, items, least }: Lane): Load => ({ device, perMs, items, least });
