import { setImmediate } from 'node:timers/promises';

/**
 * Keeps long parsing interruptible. Signals and timers are handled only between turns of the event loop, so long-running
 * code calls `yieldIfDue` regularly, outside its innermost loops.
 */
export class EventLoopTurns {
  readonly #signal: AbortSignal | undefined;
  #lastMs = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Yields to the event loop if 50 ms have passed since the last time. Throws if reading was aborted. */
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#lastMs >= YIELD_MS) {
      await setImmediate();
      this.#lastMs = performance.now();
    }
    this.#signal?.throwIfAborted();
  }
}

const YIELD_MS = 50;
