import type { FleetAction, JobCoverage, WorkerPage, WorkerQuery } from '../../fleet/view/rows.js';
import { jsonLine } from '../output/json-line.js';

export type EventFields = Readonly<Record<string, unknown>>;

/**
 * The events of a command for those who watch it while it runs: dashboards in this process and in others. A watcher first
 * gets the events that describe the present state, then every event as it happens. Without watchers an event costs a
 * reference to its fields.
 */
export class EventHub {
  readonly #watchers = new Set<(line: string) => void>();
  readonly #last = new Map<string, KeptEvent>();
  #recent: KeptEvent[] = [];
  #found: KeptEvent[] = [];
  /** Set by the command while its job runs. */
  job: LiveJob | undefined;
  /** Set by the command while it coordinates a fleet. */
  fleet: LiveFleet | undefined;
  /** The chunks so far as the text of a trace; set if they are recorded. */
  trace: (() => Iterable<string>) | undefined;
  /** True if hits are in the ledger, where watchers can read all of them: then they are not sent. */
  hasStoredHits = false;

  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  publish(event: string, fields: EventFields = {}): void {
    const isFound = FOUND.has(event);
    if (isFound && this.hasStoredHits) return;
    const kept = { event, fields };
    if (isFound) this.#found = keepLast(this.#found, kept, MAX_FOUND);
    else if (RECENT.has(event)) this.#recent = keepLast(this.#recent, kept, MAX_RECENT);
    else if (STATE.has(event)) this.#last.set(`${event} ${String(fields.device ?? fields.id ?? '')}`, kept);
    if (this.#watchers.size === 0) return;
    const line = lineOf(kept);
    for (const watcher of this.#watchers) watcher(line);
  }

  /** Calls `watcher` with the lines of all events, the kept ones first. Returns the function that ends it. */
  watch(watcher: (line: string) => void): () => void {
    for (const kept of [...this.#last.values(), ...this.#recent, ...this.#found]) watcher(lineOf(kept));
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

/** A running job, as those who watch it can control it. Each function resolves to what has changed, for people. */
export interface LiveJob {
  control(action: LiveAction): Promise<string>;
}

/** A fleet, as those who watch its coordinator see and control it. Its figures are in the events `fleet`. */
export interface LiveFleet {
  workers(query: WorkerQuery): Promise<WorkerPage>;
  coverage(job: string): Promise<JobCoverage>;
  /** Resolves to what has changed, for people. */
  control(action: FleetAction): Promise<string>;
}

export type LiveAction =
  | { readonly action: 'pause' | 'resume' | 'stop' | 'cancel' }
  | { readonly action: 'priority'; readonly priority: number };

interface KeptEvent {
  readonly event: string;
  readonly fields: EventFields;
}

/** Events of which the last one counts, for each device or job. */
const STATE = new Set([
  ...['start', 'job', 'task', 'device', 'lost', 'progress', 'coverage', 'notes', 'fleet', 'listening', 'done'],
]);
const RECENT = new Set(['warning', 'error']);
const MAX_RECENT = 20;
/** Events about results. */
export const FOUND: ReadonlySet<string> = new Set(['hit', 'gap', 'block', 'proof_found', 'mined']);
/** Kept for watchers that come later; older ones are in the ledger, if the job has one. */
const MAX_FOUND = 1000;

const lineOf = ({ event, fields }: KeptEvent): string => jsonLine({ event, ...fields });

/** Drops the oldest tenth when the list is full, so that most calls only append. */
function keepLast<T>(list: T[], item: T, max: number): T[] {
  list.push(item);
  return list.length > max * 1.1 ? list.slice(-max) : list;
}
