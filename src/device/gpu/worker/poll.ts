/**
 * When to poll work in flight: the pure part, in microseconds. A mark is not polled for 90 % of the time that the same
 * work took before, then every 100 to 400 µs, and without sleep from 0.4 % before the expected end to 0.4 % after it. So
 * the end of a steady kernel of 50 ms is known some 10 µs later, for less than 3 % of a core.
 */

/** The minimum and maximum interval between polls once an end is near; short work is polled more often. */
const STEP_US = 50;
const LONG_STEP_US = 200;
const SHORT_STEP_US = 5;
const SHORT_US = 500;
/** The range around the expected end in which polls follow each other without sleep, as a share of the expected time. */
const NEAR = 0.004;
/** The share of the expected time before the first poll. */
const ASLEEP = 0.9;
/** The assumed time of unknown work, the longest that a chunk may take, so that nothing blocks for lack of a figure. */
export const UNKNOWN_US = 1e6;

/** Returns the interval of polls near the end of work that is expected to take `expectedUs`. */
export function pollIntervalUs(expectedUs: number | undefined): number {
  return Math.min(LONG_STEP_US, Math.max(STEP_US, (expectedUs ?? 0) / 1000));
}

/** Returns how long not to poll a mark that has been in flight for `elapsedUs` and was polled `polls` times. */
export function nextPollDelayUs(elapsedUs: number, expectedUs: number | undefined, polls: number): number {
  if (expectedUs === undefined) return backOffUs(polls);
  const asleep = ASLEEP * expectedUs - elapsedUs;
  if (asleep >= 1 || polls === 0) return Math.max(0, asleep);
  const short = expectedUs < SHORT_US && elapsedUs < 2 * expectedUs;
  if (short) return Math.max(SHORT_STEP_US, expectedUs / 10);
  const away = (1 - NEAR) * expectedUs - elapsedUs;
  if (away > 0) return Math.min(Math.max(away, SHORT_STEP_US), 2 * pollIntervalUs(expectedUs));
  return elapsedUs < (1 + NEAR) * expectedUs ? SHORT_STEP_US : pollIntervalUs(expectedUs);
}

/**
 * Returns how long not to poll work that shared the device and now has more of it. From half the expected time on it is
 * polled some ten times.
 */
export function pollDelayAfterRelief(elapsedUs: number, expectedUs: number | undefined): number {
  if (expectedUs === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(STEP_US, expectedUs / 20, (ASLEEP * expectedUs) / 2 - elapsedUs);
}

/** Doubles from 20 µs to 2 ms: the interval of polls for unknown work and for callbacks that do not arrive. */
export function backOffUs(k: number): number {
  return Math.min(20 * 2 ** k, 2000);
}

/**
 * How many rounds of polling may find nothing before the worker blocks in the driver, once. Twice the last kernel's
 * time for each busy line: steady kernels never reach it.
 */
export function maxIdleRounds(lastKernelUs: number, pollUs: number, busy: number): number {
  return Math.min(65_536, Math.max(16, Math.ceil((2 * lastKernelUs) / pollUs) * Math.max(1, busy)));
}

/** A pause below this is caused by the host, not by the work: kernels of some microseconds wait as long for a busy core. */
const HICCUP_US = 50_000;

/**
 * Returns how long polling must also have found nothing: near an end and with short work, rounds are closer than
 * `pollUs`.
 */
export function minIdleUs(lastKernelUs: number, busy: number): number {
  return Math.max(HICCUP_US, 2 * lastKernelUs * Math.max(1, busy));
}

/** How many kinds of work are remembered; beyond that, all are forgotten and measured again. */
const MAX_KINDS = 1024;
/** Work that had completed at the first poll took at most 90 % of the expected time, by an unknown margin. */
const SOONER = 0.7;

/** The time of each kind of work, measured by marks that completed: an average in which the latest counts half. */
export class ExpectedTimes {
  readonly #us = new Map<number, number>();

  of(kind: number): number | undefined {
    return this.#us.get(kind);
  }

  /** `early`: it had completed at the first poll; `us` is then the time at which that poll was due. */
  learn(kind: number, us: number, early: boolean): void {
    const before = this.#us.get(kind);
    if (before === undefined && this.#us.size >= MAX_KINDS) this.#us.clear();
    if (early) this.#us.set(kind, us * SOONER);
    else this.#us.set(kind, before === undefined ? us : (before + us) / 2);
  }
}

/**
 * The kind of a group of commands: which programs over how many items, which transfers of how many bytes, in order.
 * Sizes are rounded to a power of two, so that a chunk that grows a little keeps its kind.
 */
export function combineKind(kind: number, command: number, size: number): number {
  return (Math.imul(kind ^ command, 0x9e37_79b1) + Math.ceil(Math.log2(size + 1))) | 0;
}

/** The same work while `busy` lines are busy, rounded to a power of two: they share the device, and each takes longer. */
export const kindWhenBusy = (kind: number, busy: number): number => combineKind(kind, WHEN_BUSY, busy);
const WHEN_BUSY = 0x6265;
