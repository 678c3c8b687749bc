import { buildVersion } from '../../console/command/version.js';
import type { LiveAction } from '../../console/live/event-hub.js';
import { liveProcesses } from '../../console/live/processes.js';
import type { FleetAction, WorkerQuery } from '../../fleet/view/rows.js';
import { MillraceError } from '../../kernel/error.js';
import { openStore, type Store } from '../../store/index.js';
import type { SendEvent } from '../server/replies.js';
import { FleetViewer } from './fleet/fleet-viewer.js';
import { fleetSummaryOf } from './fleet/summary.js';
import { allHits, HitReader, jobDetailOf, jobPageOf } from './history.js';
import type {
  ChunkState,
  CoverageState,
  DashboardState,
  HitPage,
  HitRow,
  JobDetail,
  JobPage,
  ProcessDetail,
} from './state.js';
import { type WatchedProcess, watchOtherProcess } from './watched-process.js';

export interface DashboardOptions {
  /** The data directory, which has the ledger; undefined if nothing is stored. */
  readonly directory: string | undefined;
  /** The process to show; undefined shows all of the directory, and every job ever kept. */
  readonly own?: WatchedProcess;
  /** The coordinator of a fleet to show as well. */
  readonly fleet?: WatchedProcess;
  readonly warn?: (notice: string) => void;
}

/** What a dashboard shows: processes that run now, and jobs of the ledger. */
export class Dashboard {
  readonly #options: DashboardOptions;
  readonly #processes = new Map<string, WatchedProcess>();
  readonly #connecting = new Set<string>();
  readonly #viewers = new Set<Viewer>();
  /** Open pages of a fleet, by the name that each page gave itself. */
  readonly #fleetViewers = new Map<string, FleetViewer>();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #version = buildVersion();
  #store: Promise<Store> | undefined;
  #reader: HitReader | undefined;

  constructor(options: DashboardOptions) {
    this.#options = options;
    if (options.fleet) this.#processes.set('fleet', options.fleet);
    if (options.own) this.#processes.set('own', options.own);
    else {
      this.#findProcesses();
      this.#timers.push(setInterval(() => this.#findProcesses(), FIND_MS).unref());
    }
    this.#timers.push(setInterval(() => this.#tick(), TICK_MS).unref());
  }

  /** Sends the state to a page, then what changes. `key` is the job that the page shows in detail. */
  view(key: string | undefined, send: SendEvent): () => void {
    const viewer = new Viewer(key, send);
    this.#viewers.add(viewer);
    viewer.update(this.state(), this.#find(key), true);
    return () => void this.#viewers.delete(viewer);
  }

  /** Also sends the figures of a fleet. `viewer` is the page's own name, by which it says which workers it shows. */
  viewFleet(viewer: string, key: string, job: string | undefined, send: SendEvent): () => void {
    const watching = new FleetViewer(() => this.#findFleet(key), job, send);
    this.#fleetViewers.set(viewer, watching);
    return () => {
      watching.close();
      if (this.#fleetViewers.get(viewer) === watching) this.#fleetViewers.delete(viewer);
    };
  }

  async showWorkers(viewer: string, query: WorkerQuery): Promise<void> {
    await this.#fleetViewers.get(viewer)?.show(query);
  }

  async controlFleet(key: string, action: FleetAction): Promise<string> {
    const { fleet } = this.#findFleet(key) ?? {};
    if (fleet) return fleet.control(action);
    throw new MillraceError({ code: 'usage', message: `there is no fleet ${key} here`, asked: action.action });
  }

  /** Jobs of the ledger, newest first. */
  async jobs(from: number, count: number, search: string): Promise<JobPage> {
    const store = await this.#openStore();
    if (!store || this.#options.own) return { total: 0, rows: [], open: { jobs: 0, etaSeconds: undefined } };
    return jobPageOf(await store.jobs(), this.#all(), { from, count, search });
  }

  async job(id: string): Promise<JobDetail> {
    const store = await this.#openStore();
    if (!store) throw noJobError(id);
    return jobDetailOf(store, id);
  }

  async hits(key: string, from: number, count: number, search: string): Promise<HitPage> {
    const watched = this.#find(key);
    if (watched && watched.model.state.jobId === undefined) return watched.hits(from, count, search);
    const store = await this.#openStore();
    if (!store) throw noJobError(key);
    this.#reader ??= new HitReader(store);
    return this.#reader.page(key, { from, count, ...(search !== '' && { search }) });
  }

  /** Reads all results of a job, a page at a time. */
  allHits(key: string, search: string): AsyncIterable<HitRow> {
    return allHits((from, count) => this.hits(key, from, count, search));
  }

  /** The text of a running kernel's file. */
  code(key: string): string {
    const code = this.#find(key)?.model.code;
    if (code !== undefined) return code;
    throw new MillraceError({ code: 'usage', message: "the kernel's text is not known", asked: `the code of ${key}` });
  }

  trace(key: string): Iterable<string> | AsyncIterable<string> {
    const watched = this.#find(key);
    if (watched) return watched.trace();
    throw new MillraceError({ code: 'usage', message: 'no process runs this job now', asked: `the trace of ${key}` });
  }

  /** Controls a job: by its process, or by the ledger if the process does not answer. */
  async control(key: string, action: LiveAction): Promise<string> {
    const watched = this.#find(key);
    if (watched) return watched.control(action);
    const store = await this.#openStore();
    if (!store) throw noJobError(key);
    const { job, isRunning } = await store.find(key);
    if (action.action === 'priority') {
      await store.setPriority(job.id, action.priority);
      return `priority ${action.priority}`;
    }
    if (isRunning && action.action !== 'stop') {
      await store.request(job.id, action.action);
      return `${action.action} requested`;
    }
    if (action.action !== 'cancel')
      throw new MillraceError({ code: 'usage', message: 'no process runs this job now', asked: action.action });
    await store.cancel(job.id);
    return 'cancelled';
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#tick();
    for (const viewer of this.#viewers) viewer.end();
    for (const watched of this.#processes.values()) watched.close();
    await (await this.#store?.catch(() => undefined))?.close();
  }

  #all(): WatchedProcess[] {
    return [...this.#processes.values()].filter(({ model }) => model.state.name !== '');
  }

  #find(key: string | undefined): WatchedProcess | undefined {
    return this.#all().find(({ model: { state } }) => state.key === key);
  }

  #findFleet(key: string): WatchedProcess | undefined {
    return [...this.#processes.values()].find(({ model }) => model.fleet?.fleet === key);
  }

  /** What all pages show: processes and fleets. */
  state(): DashboardState {
    const { directory, own } = this.#options;
    return {
      version: this.#version,
      directory: own ? undefined : directory,
      nowMs: Date.now(),
      processes: this.#all().map(({ model }) => model.state),
      fleets: [...this.#processes.values()].flatMap(({ model }) => fleetSummaryOf(model) ?? []),
    };
  }

  #tick(): void {
    if (this.#viewers.size === 0) return;
    const state = this.state();
    for (const viewer of this.#viewers) viewer.update(state, this.#find(viewer.key), false);
  }

  #findProcesses(): void {
    const { directory = '' } = this.#options;
    const found = liveProcesses(directory);
    for (const [name, watched] of this.#processes) {
      if (watched.isAlive) continue;
      watched.close();
      this.#processes.delete(name);
    }
    for (const process of found) {
      if (this.#processes.has(process.name) || this.#connecting.has(process.name)) continue;
      this.#connecting.add(process.name);
      watchOtherProcess(directory, process)
        .then((watched) => this.#processes.set(process.name, watched))
        .catch(() => undefined) // it has ended since
        .finally(() => this.#connecting.delete(process.name));
    }
  }

  #openStore(): Promise<Store> | undefined {
    const { directory, warn } = this.#options;
    if (directory === undefined) return undefined;
    this.#store ??= openStore(directory, warn && { warn }).catch((error: unknown) => {
      this.#store = undefined; // the next request tries again
      throw error;
    });
    return this.#store;
  }
}

/** A page that is open. It is sent what it does not have yet. */
class Viewer {
  readonly key: string | undefined;
  readonly #send: SendEvent;
  #last: readonly unknown[] = [];
  #coverage: CoverageState | undefined;
  #sampleMs = 0;
  #chunk: ChunkState | undefined;

  constructor(key: string | undefined, send: SendEvent) {
    this.key = key;
    this.#send = send;
  }

  update(state: DashboardState, watched: WatchedProcess | undefined, isFirst: boolean): void {
    // The state of a process is replaced by every event that changes it; a fleet's is made anew.
    const parts = [...state.processes, ...state.fleets.map((fleet) => JSON.stringify(fleet))];
    const isSame = parts.length === this.#last.length && parts.every((one, at) => one === this.#last[at]);
    const detail = watched && this.#detail(watched);
    if (!isFirst && isSame && !detail) return;
    this.#last = parts;
    this.#send(isFirst ? 'snapshot' : 'update', { ...state, ...(detail && { detail }) });
  }

  end(): void {
    this.#send('end', {});
  }

  /** Undefined if nothing has changed. */
  #detail({ model }: WatchedProcess): ProcessDetail | undefined {
    const { coverage, hasChunks } = model;
    const samples = model.samples.filter(({ atMs }) => atMs > this.#sampleMs);
    const known = this.#chunk === undefined ? -1 : model.chunks.lastIndexOf(this.#chunk);
    const chunks = model.chunks.slice(known + 1);
    const isNew = coverage !== this.#coverage;
    if (!isNew && samples.length === 0 && chunks.length === 0) return undefined;
    this.#coverage = coverage;
    this.#sampleMs = samples.at(-1)?.atMs ?? this.#sampleMs;
    this.#chunk = chunks.at(-1) ?? this.#chunk;
    return { ...(isNew && coverage && { coverage }), samples, chunks, hasChunks };
  }
}

/** Pages are sent changes twice a second. */
const TICK_MS = 500;
const FIND_MS = 1000;

const noJobError = (id: string): MillraceError =>
  new MillraceError({ code: 'usage', message: `there is no job ${id}`, asked: id });
