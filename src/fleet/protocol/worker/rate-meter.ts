/** Measures how many indices of a job a worker does per ms, as a moving average. */
export class RateMeter {
  #perMs: number | undefined;
  #samples = 0;
  #since: number | undefined;
  #done = 0n;

  /** Undefined until something was done. */
  get perMs(): number | undefined {
    return this.#perMs;
  }

  /** True until there is more than the first figure, which includes the time to compile the kernel. */
  get isRough(): boolean {
    return this.#samples < 2;
  }

  /** Starts to count time, unless it counts already. */
  start(now: number): void {
    this.#since ??= now;
  }

  /** Leaves out the time until the next start. */
  stop(now: number): void {
    if (this.#done > 0n) this.#sample(now);
    this.#since = undefined;
  }

  /** Counts indices that were done just now. */
  add(length: bigint, now: number): void {
    this.#done += length;
    if (this.#perMs === undefined || now - (this.#since ?? now) >= WINDOW_MS) this.#sample(now);
  }

  /** Lowers the rate if little was done for `ms`. Call while there is work. */
  check(now: number, ms: number): void {
    if (this.#perMs === undefined || this.#since === undefined || now - this.#since < ms) return;
    if (this.#done > 0n) this.#sample(now);
    // The time so far counts for what is being done: a long chunk is not a fast one.
    else this.#perMs = Math.max(MIN_RATE, this.#perMs / 2);
  }

  #sample(now: number): void {
    const sample = Number(this.#done) / Math.max(MIN_MS, now - (this.#since ?? now));
    const known = this.isRough ? undefined : this.#perMs;
    this.#perMs = Math.max(MIN_RATE, known === undefined ? sample : (known + sample) / 2);
    this.#samples++;
    this.#since = now;
    this.#done = 0n;
  }
}

const WINDOW_MS = 1_000;
/** Devices complete several chunks at a time: what was done in less says little. */
const MIN_MS = 5;
/** An index in twelve days: the rate of a device that hangs. */
const MIN_RATE = 1e-9;
