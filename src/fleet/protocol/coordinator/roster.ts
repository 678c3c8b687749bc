import { beatMs, PriorityIndex, silenceMs } from '../../lease/index.js';
import type { DepartedWorker, WorkerView } from '../events.js';
import type { DeviceReport, GrantMessage, JobId, NoneMessage, WorkerId } from '../messages.js';

/** A worker as the coordinator knows it. */
export interface WorkerRecord extends WorkerView {
  /** The last request, and its answer, which is repeated if the request is. */
  request: number;
  reply: GrantMessage | NoneMessage | undefined;
  faults: number;
  barred: string | undefined;
  /** Of its messages. Undefined if it is the current one. */
  version: number | undefined;
  isDraining: boolean;
  heardAt: number;
  readonly jobs: Map<JobId, WorkerJob>;
  devices: readonly DeviceReport[];
  pastMs: number;
}

export interface WorkerJob {
  perMs: number | undefined;
  /** The time that its last lease was meant for. */
  leaseMs: number | undefined;
  /** The weaker condition of its witnesses. */
  bits?: number;
  /** Its indices that are committed. */
  done: number;
}

/** The workers that were heard of lately. */
export class Roster {
  readonly #workers = new Map<WorkerId, WorkerRecord>();
  /** The worker that lapses next is first: keys are negative times. */
  readonly #deadlines = new PriorityIndex<WorkerRecord>();
  /** The oldest first. */
  readonly #departed = new Map<WorkerId, DepartedWorker & { readonly worker: WorkerRecord }>();

  get all(): ReadonlyMap<WorkerId, WorkerRecord> {
    return this.#workers;
  }

  /** The interval of heartbeats. */
  get beatMs(): number {
    return beatMs(this.#workers.size);
  }

  /** When the next worker lapses. Undefined if there is none. */
  get nextLapse(): number | undefined {
    const { top } = this.#deadlines;
    return top && -(this.#deadlines.keyOf(top) ?? 0);
  }

  /** Returns the worker, whose message has arrived just now. */
  meet(id: WorkerId, now: number): WorkerRecord {
    let worker = this.#workers.get(id);
    if (worker === undefined) {
      const fresh = {
        request: 0,
        reply: undefined,
        faults: 0,
        barred: undefined,
        isDraining: false,
        version: undefined,
      };
      worker = { id, since: now, heardAt: now, ...fresh, jobs: new Map(), devices: [], pastMs: 0 };
      this.#workers.set(id, worker);
      this.#departed.delete(id);
    }
    worker.heardAt = now;
    this.#deadlines.set(worker, -(now + silenceMs(this.beatMs)));
    return worker;
  }

  /** Returns the workers that were silent for too long. */
  *lapsed(now: number): Generator<WorkerId> {
    for (let next = this.#deadlines.top; next; next = this.#deadlines.top) {
      if (-(this.#deadlines.keyOf(next) ?? 0) > now) return;
      this.#deadlines.delete(next);
      yield next.id;
    }
  }

  remove(id: WorkerId, now: number, reason: string): WorkerRecord | undefined {
    const worker = this.#workers.get(id);
    if (worker === undefined) return undefined;
    this.#workers.delete(id);
    this.#deadlines.delete(worker);
    this.departed(now);
    this.#departed.set(id, { worker, at: now, reason });
    return worker;
  }

  /** Workers that left in the last minute, at most 1,000. */
  departed(now: number): Iterable<DepartedWorker> {
    for (const [id, { at }] of this.#departed) {
      if (this.#departed.size <= MAX_DEPARTED && at > now - DEPARTED_MS) break;
      this.#departed.delete(id);
    }
    return this.#departed.values();
  }

  /** The version of a worker's messages, also of one that has left. Undefined if it is the current one, or not known. */
  versionOf(id: WorkerId): number | undefined {
    return (this.#workers.get(id) ?? this.#departed.get(id)?.worker)?.version;
  }

  jobOf(worker: WorkerRecord, job: JobId): WorkerJob {
    const known = worker.jobs.get(job) ?? { perMs: undefined, leaseMs: undefined, done: 0 };
    worker.jobs.set(job, known);
    return known;
  }
}

/** For how long a worker that has left is remembered. */
export const DEPARTED_MS = 60_000;
const MAX_DEPARTED = 1000;
