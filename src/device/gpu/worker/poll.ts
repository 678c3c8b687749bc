/**
 * When to look at work in flight: the pure part, in microseconds. A mark is left alone for about 90 % of the time that
 * the same work took before, then looked at every 100 µs, and all the time around the very end: 0.4 % before and
 * after it. So the end of a steady kernel of 50 ms is known some 10 µs later, for less than 3 % of a core.
 */

/** The least and the most between two looks, once an end is near; what is over in a moment is looked at more often. */
const STEP_US = 50;
const LONG_STEP_US = 200;
const SHORT_STEP_US = 5;
const SHORT_US = 500;
/** How near to the expected end looks follow each other without sleep, as a share of the expected time. */
const NEAR = 0.004;
/** How much of the expected time passes before the first look. */
const ASLEEP = 0.9;
/** What is not known is taken to last this long, the longest that a chunk may take: nothing blocks for want of a figure. */
export const UNKNOWN_US = 1e6;

/** Between looks near the end of work that is expected to take so long. */
export function stepUs(expectedUs: number | undefined): number {
  return Math.min(LONG_STEP_US, Math.max(STEP_US, (expectedUs ?? 0) / 1000));
}

/** How long to leave a mark alone that has been under way for `elapsedUs` and was looked at `looks` times. */
export function restUs(elapsedUs: number, expectedUs: number | undefined, looks: number): number {
  if (expectedUs === undefined) return backOffUs(looks);
  const asleep = ASLEEP * expectedUs - elapsedUs;
  if (asleep >= 1 || looks === 0) return Math.max(0, asleep);
  const short = expectedUs < SHORT_US && elapsedUs < 2 * expectedUs;
  if (short) return Math.max(SHORT_STEP_US, expectedUs / 10);
  const away = (1 - NEAR) * expectedUs - elapsedUs;
  if (away > 0) return Math.min(Math.max(away, SHORT_STEP_US), 2 * stepUs(expectedUs));
  return elapsedUs < (1 + NEAR) * expectedUs ? SHORT_STEP_US : stepUs(expectedUs);
}

/**
 * How long to leave work alone that has had the device to share and now has more of it: from half the expected time on it
 * is looked at some ten times.
 */
export function easedUs(elapsedUs: number, expectedUs: number | undefined): number {
  if (expectedUs === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(STEP_US, expectedUs / 20, (ASLEEP * expectedUs) / 2 - elapsedUs);
}

/** Doubles from 20 µs to 2 ms: looks at what nothing is known about, and for callbacks that do not come. */
export function backOffUs(k: number): number {
  return Math.min(20 * 2 ** k, 2000);
}

/**
 * Rounds of looking that may find nothing before the worker waits in the driver, once. Twice the last kernel's time for
 * each line at work: steady kernels never get there.
 */
export function idleLimit(lastKernelUs: number, pollUs: number, busy: number): number {
  return Math.min(65_536, Math.max(16, Math.ceil((2 * lastKernelUs) / pollUs) * Math.max(1, busy)));
}

/** A pause below this is the host's, not the work's: kernels of some microseconds wait as long for a busy core. */
const HICCUP_US = 50_000;

/** And how long they must have found nothing: near an end and with short work, rounds are closer than `pollUs`. */
export function idleUs(lastKernelUs: number, busy: number): number {
  return Math.max(HICCUP_US, 2 * lastKernelUs * Math.max(1, busy));
}

/** Kinds of work that are remembered; when there are more, all are forgotten and learnt again. */
const MOST_KINDS = 1024;
/** What was passed at the first look took at most 90 % of what was expected, nobody knows how much less. */
const SOONER = 0.7;

/** How long work of each kind takes, from the marks that passed: an average that weighs the latest by half. */
export class Expectations {
  readonly #us = new Map<number, number>();

  of(kind: number): number | undefined {
    return this.#us.get(kind);
  }

  /** `early`: it had passed when it was first looked at; `us` then says when that was to be. */
  learn(kind: number, us: number, early: boolean): void {
    const before = this.#us.get(kind);
    if (before === undefined && this.#us.size >= MOST_KINDS) this.#us.clear();
    if (early) this.#us.set(kind, us * SOONER);
    else this.#us.set(kind, before === undefined ? us : (before + us) / 2);
  }
}

/**
 * The kind of a group of commands: which programs over how many items, which transfers of how many bytes, in order; sizes
 * to the power of two, so that a chunk that grows a little stays what it was.
 */
export function kindWith(kind: number, what: number, size: number): number {
  return (Math.imul(kind ^ what, 0x9e37_79b1) + Math.ceil(Math.log2(size + 1))) | 0;
}

/** The same work while so many lines are busy, to the power of two: they share the device, and each takes longer. */
export const besides = (kind: number, busy: number): number => kindWith(kind, BESIDES, busy);
const BESIDES = 0x6265;
