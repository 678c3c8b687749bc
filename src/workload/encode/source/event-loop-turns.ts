import { setImmediate } from 'node:timers/promises';

/**
 * Keeps long parsing interruptible. JavaScript hears of signals and timers only between turns of its loop, so code that
 * works for long calls `take` now and then, outside of its innermost loops.
 */
export class EventLoopTurns {
  readonly #signal: AbortSignal | undefined;
  #lastMs = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Lets the loop turn if it has not for 50 ms. Throws if the reading was aborted. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#lastMs >= YIELD_MS) {
      await setImmediate();
      this.#lastMs = performance.now();
    }
    this.#signal?.throwIfAborted();
  }
}

const YIELD_MS = 50;
