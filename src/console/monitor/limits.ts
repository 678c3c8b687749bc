import type { Sensors } from '../../device/device.js';

/**
 * Limits that a device is held to by pausing it, never by a setting of the card. Pure: what a sensor says and whether the
 * device is held decide whether it is held next.
 */
export interface Limits {
  readonly maxTemp?: number;
  readonly maxPower?: number;
}

/** Why a device is held; undefined when it is not. */
export type Held = 'too hot' | 'too much power' | undefined;

/** A device cools by some degrees within seconds: going on sooner would switch it on and off all the time. */
const COOLER_C = 5;
/** Power falls as soon as work stops, so that it says nothing: the pause is a time. */
const POWER_PAUSE_MS = 5000;

export interface Hold {
  readonly held: Held;
  readonly sinceMs: number;
}

export const FREE: Hold = { held: undefined, sinceMs: 0 };

export function hold(before: Hold, sensors: Sensors | undefined, { maxTemp, maxPower }: Limits, nowMs: number): Hold {
  const { temperatureC, powerW } = sensors ?? {};
  if (maxTemp !== undefined && temperatureC !== undefined) {
    const limit = before.held === 'too hot' ? maxTemp - COOLER_C : maxTemp;
    const isHot = before.held === 'too hot' ? temperatureC > limit : temperatureC >= limit;
    if (isHot) return before.held === 'too hot' ? before : { held: 'too hot', sinceMs: nowMs };
  } else if (before.held === 'too hot') return before; // a sensor that has fallen silent has not said that it is cool
  if (maxPower === undefined) return FREE;
  if (before.held === 'too much power' && nowMs - before.sinceMs < POWER_PAUSE_MS) return before;
  return powerW !== undefined && powerW > maxPower ? { held: 'too much power', sinceMs: nowMs } : FREE;
}

/** Threads of a CPU device, so that it takes at most such a share of the processors; the rest is done by pausing. */
export const threadsWithin = (share: number, processors: number): number =>
  Math.max(1, Math.floor(share * processors + 1e-9));

/**
 * A share of the processors as a budget: time of them is earned while the clock runs and spent by this process; in debt,
 * CPU devices pause. What can be saved up is little, so that a quiet minute is not followed by a loud one.
 */
export interface CpuBudget {
  readonly balanceMs: number;
  readonly isHeld: boolean;
}

export const FULL_BUDGET: CpuBudget = { balanceMs: 0, isHeld: false };
const MOST_SAVED_MS = 200;

export function spend(
  budget: CpuBudget,
  share: number,
  processors: number,
  passedMs: number,
  usedMs: number,
): CpuBudget {
  const balanceMs = Math.min(MOST_SAVED_MS, budget.balanceMs + share * processors * passedMs - usedMs);
  return { balanceMs, isHeld: balanceMs < 0 };
}
