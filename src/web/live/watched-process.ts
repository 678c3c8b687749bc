import type { EventHub, LiveAction, LiveFleet } from '../../console/live/event-hub.js';
import { FOUND } from '../../console/live/event-hub.js';
import { fleetOfProcess } from '../../console/live/fleet-requests.js';
import { controlProcess, type LiveProcess, traceOf, watchProcess } from '../../console/live/processes.js';
import { MillraceError } from '../../kernel/error.js';
import { type EventData, newProcess, type ProcessModel, reduce } from './reduce.js';
import type { HitPage, HitRow, Index } from './state.js';

/** A process whose events are followed: this one, or another of the data directory. */
export interface WatchedProcess {
  readonly model: ProcessModel;
  /** False once the process has ended. */
  readonly isAlive: boolean;
  /** Results of a job that is not in the ledger. */
  hits(from: number, count: number, search: string): HitPage;
  control(action: LiveAction): Promise<string>;
  /** The fleet that it coordinates, if its model has one. */
  readonly fleet: LiveFleet | undefined;
  trace(): Iterable<string> | AsyncIterable<string>;
  close(): void;
}

/** Keeps what the events of a process say. */
class EventReader {
  model: ProcessModel;
  readonly hits: HitRow[] = [];
  /** Results that are no longer kept. */
  droppedHits = 0;

  constructor(pid: number) {
    this.model = newProcess(pid);
  }

  readonly read = (line: string): void => {
    const event = JSON.parse(line) as EventData;
    if (FOUND.has(event.event)) this.#addHit(event);
    else this.model = reduce(this.model, event, Date.now());
  };

  page(from: number, count: number, search: string): HitPage {
    const matching = search === '' ? this.hits : this.hits.filter((hit) => matches(hit, search.toLowerCase()));
    return { total: matching.length, rows: matching.slice(from, from + count) };
  }

  #addHit({ event: _, index, hit, ...rest }: EventData): void {
    const fields = Object.entries({ ...(hit as object), ...rest }).map(([name, value]) => [name, textOf(value)]);
    this.hits.push({ index: (index ?? '') as Index, values: Object.fromEntries(fields), foundMs: Date.now() });
    if (this.hits.length > MAX_HITS * 1.1) {
      this.droppedHits += this.hits.length - MAX_HITS;
      this.hits.splice(0, this.hits.length - MAX_HITS);
    }
  }
}

/** Results of a job without a ledger that are kept: about 100 MB. */
const MAX_HITS = 500_000;

const matches = ({ index, values }: HitRow, search: string): boolean =>
  String(index).includes(search) || Object.values(values).some((text) => text.toLowerCase().includes(search));

const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);

/** Follows this process. */
export function watchThisProcess(hub: EventHub): WatchedProcess {
  const reader = new EventReader(process.pid);
  const end = hub.watch(reader.read);
  return {
    get model() {
      return reader.model;
    },
    isAlive: true,
    hits: (from, count, search) => reader.page(from, count, search),
    control: async (action) => {
      if (!hub.job) throw noJobError();
      return hub.job.control(action);
    },
    get fleet() {
      return hub.fleet;
    },
    trace: () => hub.trace?.() ?? noTrace(),
    close: end,
  };
}

/** Follows another process. */
export async function watchOtherProcess(directory: string, found: LiveProcess): Promise<WatchedProcess> {
  const reader = new EventReader(found.pid);
  let isAlive = true;
  const end = await watchProcess(directory, found, reader.read, () => {
    isAlive = false;
  });
  return {
    get model() {
      return reader.model;
    },
    get isAlive() {
      return isAlive;
    },
    hits: (from, count, search) => reader.page(from, count, search),
    control: (action) => controlProcess(directory, found, action),
    fleet: fleetOfProcess(directory, found),
    trace: () => traceOf(directory, found),
    close: end,
  };
}

function noTrace(): never {
  throw new MillraceError({ code: 'usage', message: 'no chunk has been recorded yet', asked: 'a trace' });
}

const noJobError = (): MillraceError =>
  new MillraceError({ code: 'usage', message: 'no job runs now', asked: 'to control a job' });
