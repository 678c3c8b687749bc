/**
 * How a device is kept honest. Every hit is recomputed, so a false hit shows; a hit that a device misses does not. So now
 * and then it gets a canary, a chunk with planted answers, and what it has done counts only once it has found them: a
 * device that goes wrong is caught by its next canary, and nothing of what it did since the last one has been counted.
 */

/** Canaries take at most this share of the work. */
export const CANARY_SHARE = 0.002;

/** One device on one job. Work is counted in items. */
export interface Audit {
  readonly worked: number;
  /** Of canaries, those in flight included. */
  readonly spent: number;
  /** Chunks that are complete and await the next canary, oldest first. */
  readonly held: readonly number[];
  /** How many of them the canary in flight vouches for: those that were complete when it was sent. */
  readonly vouched: number | undefined;
}

export const NO_AUDIT: Audit = { worked: 0, spent: 0, held: [], vouched: undefined };

/** A chunk is complete, its hits are right. */
export function awaitCanary(audit: Audit, chunk: number, items: number): Audit {
  return { ...audit, worked: audit.worked + items, held: [...audit.held, chunk] };
}

/**
 * Whether to send a canary of `items` items now: it is within the share, or the device has nothing else to do (`isIdle`)
 * and what it has done should count.
 */
export function isCanaryDue(audit: Audit, items: number, isIdle: boolean): boolean {
  if (audit.vouched !== undefined || audit.held.length === 0) return false;
  return isIdle || audit.spent + items <= CANARY_SHARE * audit.worked;
}

export function sendCanary(audit: Audit, items: number): Audit {
  return { ...audit, spent: audit.spent + items, vouched: audit.held.length };
}

export interface Verdict {
  readonly audit: Audit;
  /** Chunks that count now, or, when the canary was missed, chunks that never will. */
  readonly chunks: readonly number[];
}

/** The canary found what was planted: `chunks` count. */
export function passCanary(audit: Audit): Verdict {
  const vouched = audit.vouched ?? 0;
  return {
    audit: { ...audit, held: audit.held.slice(vouched), vouched: undefined },
    chunks: audit.held.slice(0, vouched),
  };
}

/** The canary came back without an answer (cancelled, failed): nothing is known, another will be sent. */
export function loseCanary(audit: Audit): Audit {
  return { ...audit, vouched: undefined };
}

/** The canary missed what was planted, or the device is no longer trusted: nothing since the last one counts. */
export function failCanary(audit: Audit): Verdict {
  return { audit: { ...audit, held: [], vouched: undefined }, chunks: audit.held };
}
