import { isStalled } from './balance.js';

/** How long each stream of a device has said nothing while there was something on it. */
export class Silence {
  readonly #streams: { ms: number; strikes: number }[];
  readonly #patience: number;

  /** `patience` stretches the times that are too long. */
  constructor(streams: number, patience: number) {
    this.#streams = Array.from({ length: streams }, () => ({ ms: 0, strikes: 0 }));
    this.#patience = patience;
  }

  /** Whether any of them has been silent for too long. */
  get isLong(): boolean {
    return this.#streams.some(({ strikes }) => strikes > 0);
  }

  /** How often the longest silence has been too long. */
  get strikes(): number {
    return Math.max(...this.#streams.map(({ strikes }) => strikes));
  }

  msOf(stream: number): number {
    return this.#streams[stream]?.ms ?? 0;
  }

  /** The stream said something, or has nothing to say. */
  end(stream: number): void {
    this.#streams[stream] = { ms: 0, strikes: 0 };
  }

  /** Time passed in silence, on a chunk that should take `dueMs`. True when it has become too long, then each time as long again. */
  add(stream: number, ms: number, dueMs: number | undefined): boolean {
    const silence = this.#streams[stream];
    if (silence === undefined) return false;
    silence.ms += ms;
    const strikes = silence.strikes + 1;
    if (!isStalled(silence.ms / this.#patience / strikes, dueMs && dueMs / this.#patience)) return false;
    silence.strikes = strikes;
    return true;
  }
}
