import { stallLimit } from '../run/balance.js';

/** How long each stream of a device has been silent while chunks were queued on it. */
export class StallDetector {
  readonly #streams: { ms: number; strikes: number }[];
  readonly #patience: number;

  /** `patience` scales the shortest limit and the one for unknown speeds. */
  constructor(streams: number, patience = 1) {
    this.#streams = Array.from({ length: streams }, () => ({ ms: 0, strikes: 0 }));
    this.#patience = patience;
  }

  /** True while a stream has exceeded its limit. */
  get isStalled(): boolean {
    return this.#streams.some(({ strikes }) => strikes > 0);
  }

  /** How many limits the longest silence has exceeded. */
  get strikes(): number {
    return Math.max(...this.#streams.map(({ strikes }) => strikes));
  }

  silentMs(stream: number): number {
    return this.#streams[stream]?.ms ?? 0;
  }

  /** The stream has completed a chunk. */
  reset(stream: number): void {
    this.#streams[stream] = { ms: 0, strikes: 0 };
  }

  /**
   * Adds silence to a stream while the device has `dueMs` of work. True when the silence has just exceeded a limit: the
   * first is `stallLimit`, and each further one is twice as far from the one before, at 3 and 7 times the first.
   */
  add(stream: number, ms: number, dueMs: number | undefined): boolean {
    const silence = this.#streams[stream];
    if (silence === undefined) return false;
    silence.ms += ms;
    const limit = this.#patience * stallLimit(dueMs && dueMs / this.#patience);
    if (silence.ms <= strikeLimit(silence.strikes + 1, limit)) return false;
    silence.strikes++;
    return true;
  }
}

/** Returns the silence at which the given number of limits has been exceeded. `limit` is the first. */
export const strikeLimit = (strikes: number, limit: number): number => limit * (2 ** strikes - 1);
