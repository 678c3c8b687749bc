/** When a device is no longer used. Counted per device, over all jobs. */
export interface Health {
  /** Results that independent code refuted. Every 1,000 right ones make up for one. */
  readonly wrong: number;
  /** Right results since the last one that was made up for. */
  readonly right: number;
  /** Planted answers that were missed. */
  readonly missed: number;
  /** Chunks in a row that ended in an error. */
  readonly failed: number;
  /** Chunks in a row that were given up as overdue. */
  readonly stalled: number;
}

export type Trouble = 'wrong' | 'missed' | 'failed' | 'stalled';

export const HEALTHY: Health = { wrong: 0, right: 0, missed: 0, failed: 0, stalled: 0 };

/**
 * So many end its use. A missed answer is proof; wrong hits are cosmic rays or too much overclocking, and cost only the
 * chunk; errors may be a driver that is being updated.
 */
const HEALTH_LIMITS: Readonly<Record<Trouble, number>> = { wrong: 3, missed: 1, failed: 3, stalled: 3 };
const RIGHT_PER_WRONG = 1000;

export function blame(health: Health, trouble: Trouble): Health {
  return { ...health, [trouble]: health[trouble] + 1 };
}

/** A chunk is complete; `checked` of its results were recomputed and right. */
export function praise(health: Health, checked: number): Health {
  const { wrong, missed, failed, stalled } = health;
  const right = wrong === 0 ? 0 : health.right + checked;
  if (right === health.right && failed === 0 && stalled === 0) return health;
  const forgiven = Math.min(wrong, Math.floor(right / RIGHT_PER_WRONG));
  return { wrong: wrong - forgiven, right: right - forgiven * RIGHT_PER_WRONG, missed, failed: 0, stalled: 0 };
}

/** Why the device must not be used any longer; undefined while it may. */
export function faultOf(health: Health): Trouble | undefined {
  const troubles: readonly Trouble[] = ['missed', 'wrong', 'failed', 'stalled'];
  return troubles.find((trouble) => health[trouble] >= HEALTH_LIMITS[trouble]);
}
