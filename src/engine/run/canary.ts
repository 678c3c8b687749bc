/**
 * How a device is kept honest. Every hit is recomputed, so a false hit shows; a hit that a device misses does not. So a
 * device regularly gets a canary, a chunk with planted answers, and its work counts only once it has found them. A
 * device that goes wrong is caught by its next canary, and none of its work since the last one has been counted.
 */

/** Canaries take at most this share of the work. */
export const CANARY_SHARE = 0.002;
/** Where that would take too long: results wait for a canary for at least this long, and for at most 2 % of the work. */
const HELD_MS = 500;
const HELD_SHARE = 0.02;

/** One device on one job. Work is counted in items. */
export interface Audit {
  readonly worked: number;
  /** Of `worked`, since the last canary was sent. */
  readonly fresh: number;
  /** Items of canaries, those in flight included. */
  readonly spent: number;
  /** Chunks that are complete and await the next canary, oldest first. */
  readonly held: readonly number[];
  /** How many of them the canary in flight vouches for: those that were complete when it was sent. */
  readonly vouched: number | undefined;
}

export const NO_AUDIT: Audit = { worked: 0, fresh: 0, spent: 0, held: [], vouched: undefined };

/** A chunk is complete, its hits are right. */
export function awaitCanary(audit: Audit, chunk: number, items: number): Audit {
  return { ...audit, worked: audit.worked + items, fresh: audit.fresh + items, held: [...audit.held, chunk] };
}

/**
 * True if a canary of `items` items should go to a device that does `perMs` items per millisecond. It should when it is
 * within its share; when the device has nothing else to do (`isIdle`); or when half a second of work waits for it. The
 * last rule counts for slow devices, whose canary is a large part of a chunk: results count, are stored and show as
 * progress from the first chunk on, not after hundreds of them.
 */
export function isCanaryDue(audit: Audit, items: number, isIdle: boolean, perMs?: number): boolean {
  if (audit.vouched !== undefined || audit.held.length === 0) return false;
  if (isIdle || audit.spent + items <= CANARY_SHARE * audit.worked) return true;
  const isFirst = audit.spent === 0;
  return perMs !== undefined && audit.fresh >= HELD_MS * perMs && (isFirst || items <= HELD_SHARE * audit.fresh);
}

export function sendCanary(audit: Audit, items: number): Audit {
  return { ...audit, fresh: 0, spent: audit.spent + items, vouched: audit.held.length };
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
