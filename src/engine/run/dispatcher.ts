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

/** Which piece of a job a device gets next: sized by its speed, by what is left, and by how many hits fit its ring. */
export class Handout {
  readonly #job: Job<unknown>;
  readonly #account: Account;
  #hitsPerItem: Average = NO_AVERAGE;
  /** Where the job is partitioned: who has which part. */
  #parts: ReadonlyMap<Lane, Range> | undefined;

  constructor(job: Job<unknown>, account: Account) {
    this.#job = job;
    this.#account = account;
  }

  /** So many hits were in so many items. What overflowed counts in full: the next chunk must not. */
  found(hits: number, items: number, hasOverflowed = false): void {
    this.#hitsPerItem = observe(this.#hitsPerItem, hits / items, hasOverflowed ? 1 : undefined);
  }

  /** Has the account ready for the next free slots of so many devices. */
  lease(wanted: number, devices: number): void {
    this.#account.lease(this.#job.partition ? MOST_INDICES : BigInt(wanted) * BigInt(AHEAD * devices));
  }

  /** `lanes` are the devices on the job; `isFlying` tells its chunks from other jobs'. */
  next(lane: Lane, lanes: ReadonlySet<Lane>, isFlying: (id: number) => boolean): Work | undefined {
    const job = this.#job;
    const room = job.hits ? sizeForRing(this.#hitsPerItem.value, job.hits.room) : Number.POSITIVE_INFINITY;
    const wanted = lane.round(Math.min(lane.next.size, room));
    this.lease(wanted, lanes.size);
    const backlog = job.backlog?.() ?? 'none';
    const isFull = backlog === 'held';
    if (backlog === 'unread' || (isFull && !this.#account.isFrontierWaiting)) return undefined;
    // What everything waits for is done at once, whoever's part it is in.
    const own = isFull ? undefined : this.#fromParts(lane, lanes, wanted);
    const isOwnOnly = this.#parts !== undefined && !isFull && job.partition?.steal === false;
    const flight = own ?? (isOwnOnly ? undefined : this.#pull(lane, lanes, wanted, isFlying));
    return flight && { id: flight.id, piece: { start: flight.start, count: flight.count } };
  }

  /** From the device's own part; else from one whose device is gone, silent or paused. */
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

  /** When nothing is left to hand out: what a slower device has, once more. */
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

/** So many chunks per device are kept ready. */
const AHEAD = 8;

/** True while a device takes no chunks: the others do not count on it. */
export const isAway = ({ pipeline }: Lane): boolean => pipeline.isStalled || pipeline.fed.isPaused;

const loadOf = ({ device, perMs, items, least }: Lane): Load => ({ device, perMs, items, least });
