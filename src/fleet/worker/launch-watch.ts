/**
 * Notices that a job's devices complete nothing: a launch of a foreign kernel that does not end. Time in which the process was
 * stopped does not count.
 */
export class LaunchWatch {
  readonly #limitMs: number;
  #silentMs = 0;
  #lastMs: number | undefined;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Devices have completed a range. */
  completed(): void {
    this.#silentMs = 0;
  }

  /** True if devices that have work have completed nothing for longer than the limit. Call every `WATCH_MS`. */
  isOver(hasWork: boolean, nowMs: number): boolean {
    const elapsed = Math.min(nowMs - (this.#lastMs ?? nowMs), 2 * WATCH_MS);
    this.#lastMs = nowMs;
    this.#silentMs = hasWork ? this.#silentMs + elapsed : 0;
    return this.#silentMs > this.#limitMs;
  }
}

export const WATCH_MS = 500;
/** Chunks of a kernel that is not foreign take 50 ms. */
export const LAUNCH_LIMIT_MS = 60_000;
