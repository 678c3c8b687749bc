/** Limits how often output is shown that a server can cause without end: a burst at first, then one a second. */
export class Throttle {
  readonly #now: () => number;
  #tokens = BURST;
  #since: number;
  #dropped = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Returns how many were dropped since the last one that passed; undefined if this one is dropped too. */
  tryPass(): number | undefined {
    const now = this.#now();
    this.#tokens = Math.min(BURST, this.#tokens + (now - this.#since) / REFILL_MS);
    this.#since = now;
    if (this.#tokens < 1) {
      this.#dropped += 1;
      return undefined;
    }
    this.#tokens -= 1;
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

const BURST = 20;
const REFILL_MS = 1000;
