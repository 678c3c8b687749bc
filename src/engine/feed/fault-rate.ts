/** Fault counts of a device over all jobs. They decide when it is no longer used. */
export interface FaultCounts {
  /** Results that the independent check refuted. Every 1,000 right results cancel one. */
  readonly wrong: number;
  /** Right results since a wrong one was last cancelled. */
  readonly right: number;
  /** Canaries that were missed. */
  readonly missed: number;
  /** Consecutive chunks that ended in an error. */
  readonly failed: number;
  /** Consecutive chunks that were overdue. */
  readonly stalled: number;
}

export type FaultKind = 'wrong' | 'missed' | 'failed' | 'stalled';

export const NO_FAULTS: FaultCounts = { wrong: 0, right: 0, missed: 0, failed: 0, stalled: 0 };

/**
 * Faults after which a device is no longer used. A missed canary is proof of a defect. Wrong hits come from cosmic rays
 * or overclocking and cost only the chunk. Errors may come from a driver update in progress.
 */
export const FAULT_LIMITS: Readonly<Record<FaultKind, number>> = { wrong: 3, missed: 1, failed: 3, stalled: 3 };
const RIGHT_PER_WRONG = 1000;

export function recordFault(counts: FaultCounts, kind: FaultKind): FaultCounts {
  return { ...counts, [kind]: counts[kind] + 1 };
}

/** Records a complete chunk of which `checked` results were recomputed and right. */
export function recordOk(counts: FaultCounts, checked: number): FaultCounts {
  const { wrong, missed, failed, stalled } = counts;
  const right = wrong === 0 ? 0 : counts.right + checked;
  if (right === counts.right && failed === 0 && stalled === 0) return counts;
  const forgiven = Math.min(wrong, Math.floor(right / RIGHT_PER_WRONG));
  return { wrong: wrong - forgiven, right: right - forgiven * RIGHT_PER_WRONG, missed, failed: 0, stalled: 0 };
}

/** Returns why the device must no longer be used. Undefined while it may be used. */
export function faultOf(counts: FaultCounts): FaultKind | undefined {
  const kinds: readonly FaultKind[] = ['missed', 'wrong', 'failed', 'stalled'];
  return kinds.find((kind) => counts[kind] >= FAULT_LIMITS[kind]);
}
