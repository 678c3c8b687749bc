import { type Coordinator, DEPARTED_MS } from '../protocol/index.js';
import { LIVE_STATES, WORKER_STATES, type WorkerState } from './rows.js';
import { fedOf, staleAt, stateOf } from './worker-list.js';

/** Sums over all workers. */
export interface Workforce {
  readonly states: Readonly<Record<WorkerState, number>>;
  /** Of workers that count. */
  readonly devices: number;
  readonly fed: number | undefined;
  /** By job: workers that count and have a lease, and what they do per ms. */
  readonly jobs: ReadonlyMap<string, { readonly perMs: number; readonly workers: number }>;
  /** Until then the sums stay the same, if the coordinator's revision does. */
  readonly validUntil: number;
}

export function sumWorkers(core: Coordinator, now: number): Workforce {
  const states = Object.fromEntries(WORKER_STATES.map((state) => [state, 0])) as Record<WorkerState, number>;
  const jobs = new Map<string, { perMs: number; workers: number }>();
  let [devices, fedSum, fedCount] = [0, 0, 0];
  let validUntil = Infinity;
  for (const worker of core.workers.values()) {
    const state = stateOf(core, worker, now);
    states[state]++;
    // A stale worker may be heard again at any time, which does not change the revision.
    validUntil = state === 'stale' ? now : Math.min(validUntil, staleAt(core, worker));
    if (!LIVE_STATES.includes(state)) continue;
    devices += worker.devices.length;
    const fed = state === 'working' ? fedOf(worker) : undefined;
    if (fed !== undefined) {
      fedSum += fed;
      fedCount++;
    }
    for (const [id, { perMs = 0 }] of worker.jobs) {
      const job = core.jobs.get(id);
      if (job?.state !== 'running' || job.table.leaseCount(worker.id) === 0) continue;
      const sum = jobs.get(id) ?? { perMs: 0, workers: 0 };
      sum.perMs += perMs;
      sum.workers++;
      jobs.set(id, sum);
    }
  }
  for (const { at } of core.departed(now)) {
    states.gone++;
    validUntil = Math.min(validUntil, at + DEPARTED_MS);
  }
  return { states, devices, fed: fedCount === 0 ? undefined : fedSum / fedCount, jobs, validUntil };
}
