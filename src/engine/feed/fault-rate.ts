/** Fault counts of a device over all jobs. They decide when it is no longer used. */
export interface Health {
  /** Results that the independent check refuted. Every 1,000 right results cancel one. */
  readonly wrong: number;
  /** Right results since a wrong one was last cancelled. */
  readonly right: number;
  /** Canaries that were missed. */
  readonly missed: number;
  /** Consecutive chunks that ended in an error. */
  readonly failed: number;
  /** Consecutive chunks that were given up as overdue. */
  readonly stalled: number;
}

export type Trouble = 'wrong' | 'missed' | 'failed' | 'stalled';

export const HEALTHY: Health = { wrong: 0, right: 0, missed: 0, failed: 0, stalled: 0 };

/**
 * Faults after which a device is no longer used. A missed canary is proof of a defect. Wrong hits come from cosmic rays
 * or overclocking and cost only the chunk. Errors may come from a driver update in progress.
 */
const HEALTH_LIMITS: Readonly<Record<Trouble, number>> = { wrong: 3, missed: 1, failed: 3, stalled: 3 };
const RIGHT_PER_WRONG = 1000;

export function blame(health: Health, trouble: Trouble): Health {
  return { ...health, [trouble]: health[trouble] + 1 };
}

/** Records a complete chunk of which `checked` results were recomputed and right. */
export function praise(health: Health, checked: number): Health {
  const { wrong, missed, failed, stalled } = health;
  const right = wrong === 0 ? 0 : health.right + checked;
  if (right === health.right && failed === 0 && stalled === 0) return health;
  const forgiven = Math.min(wrong, Math.floor(right / RIGHT_PER_WRONG));
  return { wrong: wrong - forgiven, right: right - forgiven * RIGHT_PER_WRONG, missed, failed: 0, stalled: 0 };
}

/** Returns why the device must not be used any longer. Undefined while it may be used. */
export function faultOf(health: Health): Trouble | undefined {
  const troubles: readonly Trouble[] = ['missed', 'wrong', 'failed', 'stalled'];
  return troubles.find((trouble) => health[trouble] >= HEALTH_LIMITS[trouble]);
}
