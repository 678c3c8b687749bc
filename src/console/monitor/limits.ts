import type { Sensors } from '../../device/device.js';

/**
 * Limits enforced by pausing a device, never by a setting of the card. Pure functions: the sensors and the current pause
 * determine the next pause.
 */
export interface DeviceLimits {
  readonly maxTemp?: number;
  readonly maxPower?: number;
}

/** Why a device is paused; undefined if it is not. */
export type LimitReason = 'too hot' | 'too much power' | undefined;

/** A device cools by some degrees within seconds: resuming sooner would switch it on and off constantly. */
const HYSTERESIS_C = 5;
/** Power falls as soon as work stops, so a reading during the pause says nothing: the pause has a fixed length. */
const POWER_PAUSE_MS = 5000;

export interface LimitPause {
  readonly cause: LimitReason;
  readonly sinceMs: number;
}

export const NOT_PAUSED: LimitPause = { cause: undefined, sinceMs: 0 };

export function nextPause(
  before: LimitPause,
  sensors: Sensors | undefined,
  { maxTemp, maxPower }: DeviceLimits,
  nowMs: number,
): LimitPause {
  const { temperatureC, powerW } = sensors ?? {};
  if (maxTemp !== undefined && temperatureC !== undefined) {
    const limit = before.cause === 'too hot' ? maxTemp - HYSTERESIS_C : maxTemp;
    const isHot = before.cause === 'too hot' ? temperatureC > limit : temperatureC >= limit;
    if (isHot) return before.cause === 'too hot' ? before : { cause: 'too hot', sinceMs: nowMs };
  } else if (before.cause === 'too hot') return before; // without a reading the device is not known to be cool
  if (maxPower === undefined) return NOT_PAUSED;
  if (before.cause === 'too much power' && nowMs - before.sinceMs < POWER_PAUSE_MS) return before;
  return powerW !== undefined && powerW > maxPower ? { cause: 'too much power', sinceMs: nowMs } : NOT_PAUSED;
}

/** Returns the threads of a CPU device that take at most a share of the processors; pauses handle the remainder. */
export const threadsWithin = (share: number, processors: number): number =>
  Math.max(1, Math.floor(share * processors + 1e-9));

/**
 * A share of the processors as a budget of CPU time: it accrues with the clock and is spent by this process. CPU devices
 * pause while the balance is negative. The balance has a low maximum, so that an idle minute is not followed by a burst.
 */
export interface CpuBudget {
  readonly balanceMs: number;
  readonly isOverspent: boolean;
}

export const FULL_BUDGET: CpuBudget = { balanceMs: 0, isOverspent: false };
const MAX_SAVED_MS = 200;

export function spend(
  budget: CpuBudget,
  share: number,
  processors: number,
  passedMs: number,
  usedMs: number,
): CpuBudget {
  const balanceMs = Math.min(MAX_SAVED_MS, budget.balanceMs + share * processors * passedMs - usedMs);
  return { balanceMs, isOverspent: balanceMs < 0 };
}
