import { MillraceError } from '../../kernel/error.js';
import { act } from '../view/act.js';
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
    if (given.action !== 'drain') {
      const { action, job } = given;
      const outcome = (this.#service.job(job) ?? noJob(job)).outcome;
      if (outcome !== undefined)
        throw new MillraceError({ code: 'usage', message: `the job is over: ${outcome}`, asked: `${action} ${job}` });
    }
    return act(this.#service, given);
  }
}

function noJob(id: string): never {
  throw new MillraceError({ code: 'usage', message: `there is no job ${id}`, asked: id });
}
