/** Whether a pool of slots was large enough, from the free slots at each acquire and the waits for a slot. */
export interface PoolMetrics {
  /** Minimum and maximum of the free slots before an acquire. Undefined if there was none. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly acquires: number;
  readonly waits: number;
  /** Waits divided by acquires. 0 if there were none. */
  readonly starvation: number;
  /** Whole nanoseconds. 0 if there were no waits. */
  readonly averageWaitNs: number;
}

/** Starvation above which a larger pool is worth its memory. */
export const MAX_STARVATION = 0.05;

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
