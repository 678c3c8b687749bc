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
const MAX_UNPROVEN_MS = 500;
const SLOW_CANARY_SHARE = 0.02;

/** The canary state of one device on one job. Work is counted in items. */
export interface CanaryState {
  readonly workItems: number;
  /** The part of `workItems` done since the last canary was sent. */
  readonly itemsSinceCanary: number;
  /** Items of canaries sent, including those in flight. */
  readonly canaryItems: number;
  /** Complete chunks that wait for the next canary, oldest first. */
  readonly heldChunks: readonly number[];
  /** Number of held chunks that the canary in flight covers: those complete when it was sent. */
  readonly coveredChunks: number | undefined;
}

export const NO_CANARY_STATE: CanaryState = {
  workItems: 0,
  itemsSinceCanary: 0,
  canaryItems: 0,
  heldChunks: [],
  coveredChunks: undefined,
};

/** Adds a complete chunk whose hits are right. */
export function awaitCanary(state: CanaryState, chunk: number, items: number): CanaryState {
  return {
    ...state,
    workItems: state.workItems + items,
    itemsSinceCanary: state.itemsSinceCanary + items,
    heldChunks: [...state.heldChunks, chunk],
  };
}

/**
 * True if a canary of `items` items should go to a device that does `perMs` items per millisecond. A canary is due if
 * it is within its share, if the device has no other work (`isIdle`), or if half a second of work waits for it. The
 * last rule is for slow devices, whose canary is a large part of a chunk: results count, are stored and show as
 * progress from the first chunk on, not after hundreds of chunks.
 */
export function isCanaryDue(state: CanaryState, items: number, isIdle: boolean, perMs?: number): boolean {
  if (state.coveredChunks !== undefined || state.heldChunks.length === 0) return false;
  if (isIdle || state.canaryItems + items <= CANARY_SHARE * state.workItems) return true;
  const isFirst = state.canaryItems === 0;
  return (
    perMs !== undefined &&
    state.itemsSinceCanary >= MAX_UNPROVEN_MS * perMs &&
    (isFirst || items <= SLOW_CANARY_SHARE * state.itemsSinceCanary)
  );
}

export function sendCanary(state: CanaryState, items: number): CanaryState {
  return {
    ...state,
    itemsSinceCanary: 0,
    canaryItems: state.canaryItems + items,
    coveredChunks: state.heldChunks.length,
  };
}

export interface CanaryVerdict {
  readonly state: CanaryState;
  /** Chunks that count now, or never will if the canary was missed. */
  readonly chunks: readonly number[];
}

/** The canary's hits were found: `chunks` count. */
export function passCanary(state: CanaryState): CanaryVerdict {
  const covered = state.coveredChunks ?? 0;
  return {
    state: { ...state, heldChunks: state.heldChunks.slice(covered), coveredChunks: undefined },
    chunks: state.heldChunks.slice(0, covered),
  };
}

/** The canary was cancelled or failed. Nothing is known; another will be sent. */
export function resetCanary(state: CanaryState): CanaryState {
  return { ...state, coveredChunks: undefined };
}

/** The canary's hits were missed, or the device is no longer trusted: no work since the last canary counts. */
export function failCanary(state: CanaryState): CanaryVerdict {
  return { state: { ...state, heldChunks: [], coveredChunks: undefined }, chunks: state.heldChunks };
}
