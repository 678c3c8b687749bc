import type { Sensors } from '../../device/device.js';

/** What a device has used since it was first asked: by its own count of joules, else from what it drew when asked. */
export interface Energy {
  readonly joules: number;
  /** When it was last asked, in milliseconds of any monotonic clock, and what it said. */
  readonly atMs: number | undefined;
  readonly powerW: number | undefined;
  readonly countedJ: number | undefined;
}

export const NO_ENERGY: Energy = { joules: 0, atMs: undefined, powerW: undefined, countedJ: undefined };

/** The device was asked. Undefined says nothing: what it used until the next answer is taken to be even. */
export function use(before: Energy, sensors: Sensors | undefined, nowMs: number): Energy {
  const { powerW, energyJ: countedJ } = sensors ?? {};
  if (powerW === undefined && countedJ === undefined) return before;
  const now = { atMs: nowMs, powerW, countedJ };
  if (before.atMs === undefined) return { joules: before.joules, ...now };
  return { joules: before.joules + (counted(before, countedJ) ?? drawn(before, powerW, nowMs)), ...now };
}

/** What a device does for a joule, just now: 24e6 is 24 MH/J, where a unit of work is a hash. */
export const perJoule = (perSecond: number | undefined, powerW: number | undefined): number | undefined =>
  perSecond === undefined || powerW === undefined || !(powerW > 0) ? undefined : perSecond / powerW;

function counted({ countedJ: before }: Energy, now: number | undefined): number | undefined {
  // A driver that was loaded again counts from 0.
  return before === undefined || now === undefined || now < before ? undefined : now - before;
}

function drawn({ powerW: before, atMs = 0 }: Energy, now: number | undefined, nowMs: number): number {
  const watts = before === undefined || now === undefined ? (before ?? now ?? 0) : (before + now) / 2;
  return (watts * (nowMs - atMs)) / 1000;
}
