import type { FleetOverview, WorkerQuery } from '../../../fleet/view/rows.js';
import type { SendEvent } from '../../server/replies.js';
import type { WatchedProcess } from '../watched-process.js';
import type { FleetUpdate, WorkersUpdate } from './updates.js';

const TICK_MS = 1000;
/** The coverage of a job with many leases takes milliseconds: this share of the time at most. */
const COVERAGE_SHARE = 0.002;
const COVERAGE_MS = 2000;
/** A worker that is heard this often is not silent: its row does not change with every heartbeat. */
const PUNCTUAL_BEATS = 1.5;

/**
 * An open page of a fleet. Once a second it is sent what has changed: figures, jobs, the workers that it shows, the coverage of
 * a job. Its cost does not grow with the workers, except for the order of the list.
 */
export class FleetViewer {
  readonly #find: () => WatchedProcess | undefined;
  readonly #job: string | undefined;
  readonly #send: SendEvent;
  readonly #timer: NodeJS.Timeout;
  #head = '';
  #order = '';
  readonly #jobs = new Map<string, string>();
  #query: WorkerQuery | undefined;
  #rows: string[] = [];
  #total = -1;
  #coverage = '';
  #coverageAt = 0;
  #isBusy = false;
  #isClosed = false;

  constructor(find: () => WatchedProcess | undefined, job: string | undefined, send: SendEvent) {
    this.#find = find;
    this.#job = job;
    this.#send = send;
    this.#timer = setInterval(() => void this.#update(), TICK_MS).unref();
    void this.#update();
  }

  /** Sets which workers the page shows, and sends them. */
  async show(query: WorkerQuery): Promise<void> {
    this.#query = query;
    this.#rows = [];
    this.#total = -1;
    await this.#sendWorkers();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  async #update(): Promise<void> {
    const overview = this.#find()?.model.fleet;
    if (overview === undefined || this.#isBusy) return;
    this.#isBusy = true;
    try {
      this.#sendFigures(overview);
      await this.#sendWorkers();
      await this.#sendCoverage(overview);
    } catch {
      // The coordinator does not answer; its process is watched elsewhere.
    } finally {
      this.#isBusy = false;
    }
  }

  #sendFigures({ jobs, seconds: _, ...head }: FleetOverview): void {
    const update: { -readonly [Name in keyof FleetUpdate]: FleetUpdate[Name] } = {};
    if (this.#head === '') update.isFirst = true;
    const text = JSON.stringify(head);
    if (text !== this.#head) update.head = head;
    this.#head = text;
    const changed = jobs.filter((job) => this.#jobs.get(job.id) !== JSON.stringify(job));
    for (const job of changed) this.#jobs.set(job.id, JSON.stringify(job));
    if (changed.length > 0) update.jobs = changed;
    const order = jobs.map(({ id }) => id);
    if (order.join() !== this.#order) update.order = order;
    this.#order = order.join();
    if (Object.keys(update).length > 0) this.#send('fleet', update);
  }

  async #sendWorkers(): Promise<void> {
    const query = this.#query;
    const fleet = this.#find()?.fleet;
    if (query === undefined || fleet === undefined) return;
    const { total, from, workers } = await fleet.workers(query);
    // Another part may have been asked for meanwhile.
    if (query !== this.#query || this.#isClosed) return;
    const punctual = PUNCTUAL_BEATS * (this.#find()?.model.fleet?.beatSeconds ?? 0);
    const shown = workers.map((row) => (row.heardSeconds <= punctual ? { ...row, heardSeconds: 0 } : row));
    const rows = shown.map((row) => JSON.stringify(row));
    const isFirst = this.#total < 0;
    const changed = shown.flatMap((row, at) => (rows[at] === this.#rows[at] ? [] : [[at, row] as const]));
    if (!isFirst && changed.length === 0 && total === this.#total && rows.length === this.#rows.length) return;
    this.#rows = rows;
    this.#total = total;
    const update: WorkersUpdate = { query, total, from, count: rows.length, changed };
    this.#send('workers', update);
  }

  async #sendCoverage({ jobs }: FleetOverview): Promise<void> {
    const job = this.#job ?? jobs.find(({ state }) => state === 'running')?.id ?? jobs[0]?.id;
    const fleet = this.#find()?.fleet;
    const start = performance.now();
    if (job === undefined || fleet === undefined || start < this.#coverageAt) return;
    const coverage = await fleet.coverage(job);
    const text = JSON.stringify([job, coverage]);
    this.#coverageAt = start + Math.max(COVERAGE_MS, (performance.now() - start) / COVERAGE_SHARE);
    if (text === this.#coverage || this.#isClosed) return;
    this.#coverage = text;
    this.#send('fleet-coverage', { job, coverage });
  }
}
