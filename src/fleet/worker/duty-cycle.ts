/**
 * Limits devices to a share of the time: they run for a while, finish what they have begun, and rest in proportion to the
 * time that both took. It only decides; `step` is called when it says.
 */
export class DutyCycle {
  #share = 1;
  #phase: 'run' | 'finish' | 'rest' = 'run';
  /** When the devices began to run, and when they may again. */
  #begun: number | undefined;
  #restUntil = 0;

  /** From 0 to 1; 1 is no limit. */
  set share(share: number) {
    this.#share = Math.min(1, Math.max(MIN_SHARE, share));
    if (this.#phase === 'rest') this.#phase = 'run';
    this.#begun = undefined;
  }

  /** True if devices are to begin nothing. */
  get isResting(): boolean {
    return this.#phase !== 'run';
  }

  /** Returns the time until the next step in ms; undefined if there is no limit. */
  step(nowMs: number, isIdle: boolean): number | undefined {
    if (this.#share === 1) {
      this.#phase = 'run';
      return undefined;
    }
    this.#begun ??= nowMs;
    if (this.#phase === 'run' && nowMs - this.#begun >= RUN_MS) this.#phase = 'finish';
    if (this.#phase === 'finish' && isIdle) {
      this.#phase = 'rest';
      this.#restUntil = nowMs + ((nowMs - this.#begun) * (1 - this.#share)) / this.#share;
    }
    if (this.#phase === 'rest' && nowMs >= this.#restUntil) {
      this.#phase = 'run';
      this.#begun = nowMs;
    }
    if (this.#phase === 'finish') return FINISH_MS;
    return Math.max(1, (this.#phase === 'run' ? this.#begun + RUN_MS : this.#restUntil) - nowMs);
  }
}

/** Short against the time over which rates are measured. */
const RUN_MS = 200;
const FINISH_MS = 10;
const MIN_SHARE = 0.01;
