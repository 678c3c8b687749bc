import type { EntryTimes } from './memory.js';

/**
 * The offset between the device's clock and the host's, in nanoseconds. The host knows when it queued an entry and when
 * it saw its end; the device's times lie between the two. Each entry narrows the interval that contains the offset. The
 * interval widens by the possible drift of two clocks, some 50 in a million. A running grid sees an entry some 2 µs after it
 * was queued; it begins the entry when those before it are done.
 */
export class ResidentClock {
  #minOffset = Number.NEGATIVE_INFINITY;
  #maxOffset = Number.POSITIVE_INFINITY;
  #origin: bigint | undefined;
  #lastNs = 0n;

  /** Converts one entry's device times to host times, given when the host queued it and saw its end. */
  convert(
    { began, ended, arrived }: EntryTimes,
    queuedNs: bigint,
    seenNs: bigint,
  ): { readonly startedNs: bigint; readonly endedNs: bigint } {
    if (began === 0n || ended < began) return { startedNs: queuedNs, endedNs: seenNs };
    const soonest = arrived !== 0n && arrived < began ? arrived : began;
    this.#origin ??= soonest - queuedNs;
    const drift = Number(seenNs - this.#lastNs) * DRIFT;
    this.#lastNs = seenNs;
    this.#maxOffset = Math.min(this.#maxOffset + drift, Number(soonest - queuedNs - this.#origin));
    this.#minOffset = Math.max(this.#minOffset - drift, Number(ended - seenNs - this.#origin));
    if (this.#minOffset > this.#maxOffset)
      this.#minOffset = Math.min(this.#maxOffset, Number(ended - seenNs - this.#origin));
    // The host may see an end 200 µs late.
    const offset = this.#origin + BigInt(Math.round(Math.max(this.#minOffset, this.#maxOffset - NEAR_NS)));
    const startedNs = later(began - offset, queuedNs);
    return { startedNs, endedNs: later(startedNs, earlier(ended - offset, seenNs)) };
  }
}

const DRIFT = 50e-6;
const NEAR_NS = 2000;
const later = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const earlier = (a: bigint, b: bigint): bigint => (a < b ? a : b);
