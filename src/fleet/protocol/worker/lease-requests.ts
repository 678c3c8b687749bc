import type { HeldWork } from './held-work.js';

/** When a worker asks for a lease: before its work ends, so that devices do not wait for the network. */
export class LeaseRequests {
  #number = 0;
  /** When the request was sent; undefined if it is answered. */
  #askedAt: number | undefined;
  #askAgainAt = 0;
  #wasGranted = false;

  /** The number of the last request. */
  get number(): number {
    return this.#number;
  }

  /** The number of the last request that was answered. */
  get answered(): number {
    return this.#askedAt === undefined ? this.#number : this.#number - 1;
  }

  /** When a request was sent that is not answered. */
  get askedAt(): number | undefined {
    return this.#askedAt;
  }

  /** True while devices may wait for a lease that follows one that was too short. */
  get isAwaited(): boolean {
    return this.#askedAt !== undefined && this.#wasGranted;
  }

  /** A request is sent now: the next one, or the last one again. */
  send(now: number): void {
    if (this.#askedAt === undefined) this.#number++;
    this.#askedAt = now;
  }

  /** Takes an answer. False if it is not that of the request that waits for one. */
  answer(request: number, isGrant: boolean): boolean {
    if (this.#askedAt === undefined || request !== this.#number) return false;
    this.#askedAt = undefined;
    this.#wasGranted = isGrant;
    return true;
  }

  /** Asks no sooner than that. */
  retryAt(time: number): void {
    this.#askAgainAt = time;
  }

  /** There may be work from that time on. */
  retryBy(time: number): void {
    this.#askAgainAt = Math.min(this.#askAgainAt, time);
  }

  /** When the next lease should be asked for, if no event changes that. What is left last changed at `progressAt`. */
  nextAt(work: HeldWork, progressAt: number): number {
    let left = 0;
    let live = 0;
    let planned = 0;
    for (const lease of work.leases.values()) {
      if (lease.left.isEmpty) continue;
      const run = work.run(lease.claim);
      // A paused job has no claim on the devices: they can work for another one.
      if (run === undefined || run.isPaused) continue;
      // A lease by a rough rate would be far too short; the first one ends soon.
      const perMs = work.plannedRate(run);
      if (perMs === undefined || ++live >= MAX_LEASES) return Infinity;
      left += Number(lease.left.total) / perMs;
      planned = Math.max(planned, lease.ms);
    }
    const reserve = Math.min(MAX_RESERVE_MS, Math.max(MIN_RESERVE_MS, RESERVE * planned));
    return Math.max(this.#askAgainAt, progressAt + left - reserve);
  }
}

/** The next lease is asked for when this share of the last one is left, within bounds. */
const RESERVE = 0.3;
const MIN_RESERVE_MS = 1_000;
const MAX_RESERVE_MS = 60_000;
const MAX_LEASES = 4;
