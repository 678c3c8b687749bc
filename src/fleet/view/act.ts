import { MillraceError } from '../../kernel/error.js';
import type { RunState } from '../protocol/index.js';
import type { FleetAction } from './rows.js';

/** What a fleet's jobs and workers can be told, by its coordinator itself or by a client of it. */
export interface FleetControls {
  /** Returns the names of those that leave. */
  drain(worker: string): readonly string[] | Promise<readonly string[]>;
  setPriority(job: string, priority: number): Promise<void>;
  control(job: string, state: RunState): Promise<void>;
}

const STATES = { pause: 'paused', resume: 'running', stop: 'ended' } as const;
const DONE = { pause: 'paused', resume: 'resumed', stop: 'stopped: the same command resumes it' } as const;

/** Returns what has changed. */
export async function act(fleet: FleetControls, given: FleetAction): Promise<string> {
  if (given.action === 'drain') {
    const drained = await fleet.drain(given.worker);
    if (drained.length > 0) return `${drained.join(', ')} finishes its leases and leaves`;
    throw new MillraceError({ code: 'usage', message: `no worker is called ${given.worker}`, asked: 'to drain it' });
  }
  if (given.action === 'priority') {
    await fleet.setPriority(given.job, given.priority);
    return `priority ${given.priority}`;
  }
  await fleet.control(given.job, STATES[given.action]);
  return DONE[given.action];
}
