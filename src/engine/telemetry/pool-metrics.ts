/** How well a pool of slots sufficed: from how many were free each time one was taken, and from the waits for one. */
export interface PoolMetrics {
  /** Slots that were free before one was taken: the fewest and the most. Undefined where none was ever taken. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly acquires: number;
  readonly waits: number;
  /** Waits by acquires, 0 where there were none. */
  readonly starvation: number;
  /** In whole nanoseconds, 0 where there were none. */
  readonly averageWaitNs: number;
}

/** Above this a larger pool is worth its memory. */
export const STARVED = 0.05;

export function poolMetrics(free: Iterable<number>, waitsNs: Iterable<number>): PoolMetrics {
  let min: number | undefined;
  let max: number | undefined;
  let acquires = 0;
  for (const slots of free) {
    acquires++;
    min = Math.min(slots, min ?? slots);
    max = Math.max(slots, max ?? slots);
  }
  let waits = 0;
  let totalNs = 0;
  for (const ns of waitsNs) {
    waits++;
    totalNs += ns;
  }
  return {
    min,
    max,
    acquires,
    waits,
    starvation: acquires === 0 ? 0 : waits / acquires,
    averageWaitNs: waits === 0 ? 0 : Math.floor(totalNs / waits),
  };
}
