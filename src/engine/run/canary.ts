/**
 * Detects devices that miss hits. Every hit is recomputed, so a false hit is detected; a missed hit is not. Therefore
 * each device regularly gets a canary, a chunk with known hits, and its work counts only after it has found them. A
 * faulty device is detected by its next canary, and none of its work since the last canary has been counted.
 */

/** Maximum share of the work that canaries take. */
export const CANARY_SHARE = 0.002;
/**
 * Limits for slow devices: after this much unproven work a canary is due, if it is the first or at most 2 % of that
 * work.
 */
const HELD_MS = 500;
const HELD_SHARE = 0.02;

/** The canary state of one device on one job. Work is counted in items. */
export interface Audit {
  readonly worked: number;
  /** The part of `worked` done since the last canary was sent. */
  readonly fresh: number;
  /** Items of canaries sent, including those in flight. */
  readonly spent: number;
  /** Complete chunks that wait for the next canary, oldest first. */
  readonly held: readonly number[];
  /** Number of held chunks that the canary in flight covers: those complete when it was sent. */
  readonly vouched: number | undefined;
}

export const NO_AUDIT: Audit = { worked: 0, fresh: 0, spent: 0, held: [], vouched: undefined };

/** Adds a complete chunk whose hits are right. */
export function awaitCanary(audit: Audit, chunk: number, items: number): Audit {
  return { ...audit, worked: audit.worked + items, fresh: audit.fresh + items, held: [...audit.held, chunk] };
}

/**
 * True if a canary of `items` items should go to a device that does `perMs` items per millisecond. A canary is due if
 * it is within its share, if the device has no other work (`isIdle`), or if half a second of work waits for it. The
 * last rule is for slow devices, whose canary is a large part of a chunk: results count, are stored and show as
 * progress from the first chunk on, not after hundreds of chunks.
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
  /** Chunks that count now, or never will if the canary was missed. */
  readonly chunks: readonly number[];
}

/** The canary's hits were found: `chunks` count. */
export function passCanary(audit: Audit): Verdict {
  const vouched = audit.vouched ?? 0;
  return {
    audit: { ...audit, held: audit.held.slice(vouched), vouched: undefined },
    chunks: audit.held.slice(0, vouched),
  };
}

/** The canary was cancelled or failed. Nothing is known; another will be sent. */
export function loseCanary(audit: Audit): Audit {
  return { ...audit, vouched: undefined };
}

/** The canary's hits were missed, or the device is no longer trusted: no work since the last canary counts. */
export function failCanary(audit: Audit): Verdict {
  return { audit: { ...audit, held: [], vouched: undefined }, chunks: audit.held };
}
