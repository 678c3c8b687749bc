/** Limits how often output is shown that a server can cause without end: a burst at first, then one a second. */
export class Throttle {
  readonly #now: () => number;
  #left = BURST;
  #since: number;
  #dropped = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#since = now();
  }

  /** Returns how many were dropped since the last one that passed; undefined if this one is dropped too. */
  pass(): number | undefined {
    const now = this.#now();
    this.#left = Math.min(BURST, this.#left + (now - this.#since) / EVERY_MS);
    this.#since = now;
    if (this.#left < 1) {
      this.#dropped += 1;
      return undefined;
    }
    this.#left -= 1;
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

const BURST = 20;
const EVERY_MS = 1000;
