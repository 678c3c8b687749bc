/** How long leases last and how often workers report: pure functions of the fleet's size and speed. Times in ms. */

/** A worker's first lease of a job, whose speed is unknown: a slow kernel does 1,000 indices in some seconds. */
export const FIRST_LENGTH = 1024n;
const FIRST_MS = 2_000;
const MIN_MS = 500;
const MAX_LENGTH = 2 ** 100;
const MAX_MS = 600_000;
const SHORT_MS = 30_000;
/** Requests and heartbeats that a coordinator answers with little of its processor, per second. */
const REQUESTS_PER_S = 200;
const BEATS_PER_S = 2000;

/**
 * The time for which a worker gets work: 2 s at first, then twice as much each time, up to 30 s, or more in a large fleet
 * so that requests stay below 200 a second. Near the end at most half of what the fleet needs for the waiting
 * indices, so that all workers end together.
 */
export function leaseMs(previousMs: number | undefined, workers: number, fleetMsLeft: number): number {
  const most = Math.min(MAX_MS, Math.max(SHORT_MS, (workers / REQUESTS_PER_S) * 1000));
  const next = previousMs === undefined ? FIRST_MS : Math.min(most, 2 * previousMs);
  return Math.max(MIN_MS, Math.min(next, fleetMsLeft / 2));
}

/** Returns the indices that a worker of this rate does in the time. */
export function leaseLength(perMs: number | undefined, ms: number): bigint {
  return perMs === undefined ? FIRST_LENGTH : BigInt(Math.max(1, Math.ceil(Math.min(perMs * ms, MAX_LENGTH))));
}

/** The interval of heartbeats and of reports without hits. */
export const beatMs = (workers: number): number => Math.max(2_000, (workers / BEATS_PER_S) * 1000);

/** A worker that was silent for this long has lapsed: its leases go to others. What it still does counts. */
export const silenceMs = (beat: number): number => 4 * beat + 2_000;

/** When a worker asks again if there is no work for it. */
export const retryMs = (beat: number): number => beat / 2;
