import type { Sensors } from '../../device/device.js';

/**
 * Energy a device has used since the first sample: from its own counter of joules, else integrated from power samples.
 */
export interface Energy {
  readonly joules: number;
  /** Time of the last sample, in milliseconds of any monotonic clock, and its readings. */
  readonly atMs: number | undefined;
  readonly powerW: number | undefined;
  readonly countedJ: number | undefined;
}

export const NO_ENERGY: Energy = { joules: 0, atMs: undefined, powerW: undefined, countedJ: undefined };

/** Adds a sample. An undefined sample is skipped: consumption is assumed to be even until the next one. */
export function addEnergySample(before: Energy, sensors: Sensors | undefined, nowMs: number): Energy {
  const { powerW, energyJ: countedJ } = sensors ?? {};
  if (powerW === undefined && countedJ === undefined) return before;
  const now = { atMs: nowMs, powerW, countedJ };
  if (before.atMs === undefined) return { joules: before.joules, ...now };
  return { joules: before.joules + (counted(before, countedJ) ?? drawn(before, powerW, nowMs)), ...now };
}

/** Returns the present work per joule: 24e6 is 24 MH/J if the unit of work is a hash. */
export const perJoule = (perSecond: number | undefined, powerW: number | undefined): number | undefined =>
  perSecond === undefined || powerW === undefined || !(powerW > 0) ? undefined : perSecond / powerW;

function counted({ countedJ: before }: Energy, now: number | undefined): number | undefined {
  // The counter restarts at 0 when the driver is reloaded.
  return before === undefined || now === undefined || now < before ? undefined : now - before;
}

function drawn({ powerW: before, atMs = 0 }: Energy, now: number | undefined, nowMs: number): number {
  const watts = before === undefined || now === undefined ? (before ?? now ?? 0) : (before + now) / 2;
  return (watts * (nowMs - atMs)) / 1000;
}
