import { MillraceError } from '../../kernel/error.js';
import type { FleetAction, JobCoverage, WorkerPage, WorkerQuery } from '../view/rows.js';
import type { CoordinatorService } from './service.js';

/** What those who watch a coordinator can see and change. */
export class CoordinatedFleet {
  readonly #service: CoordinatorService;

  constructor(service: CoordinatorService) {
    this.#service = service;
  }

  async workers(query: WorkerQuery): Promise<WorkerPage> {
    return this.#service.view.workers(query);
  }

  async coverage(job: string): Promise<JobCoverage> {
    return this.#service.view.coverage(job) ?? noJob(job);
  }

  /** Returns what has changed. */
  async control(given: FleetAction): Promise<string> {
    if (given.action === 'drain') {
      const drained = this.#service.drain(given.worker);
      if (drained.length > 0) return `${drained.join(', ')} finishes its leases and leaves`;
      throw new MillraceError({ code: 'usage', message: `no worker is called ${given.worker}`, asked: 'to drain it' });
    }
    const { action, job } = given;
    const outcome = (this.#service.job(job) ?? noJob(job)).outcome;
    if (outcome !== undefined)
      throw new MillraceError({ code: 'usage', message: `the job is over: ${outcome}`, asked: `${action} ${job}` });
    if (action === 'priority') {
      await this.#service.setPriority(job, given.priority);
      return `priority ${given.priority}`;
    }
    await this.#service.control(job, STATES[action]);
    return DONE[action];
  }
}

const STATES = { pause: 'paused', resume: 'running', stop: 'ended' } as const;
const DONE = { pause: 'paused', resume: 'resumed', stop: 'stopped: the same command resumes it' } as const;

function noJob(id: string): never {
  throw new MillraceError({ code: 'usage', message: `there is no job ${id}`, asked: id });
}
