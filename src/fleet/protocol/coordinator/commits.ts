import type { PlainValue } from '../../manifest/index.js';
import type { StoredChanges } from '../../trust/index.js';
import type { StateChange } from '../events.js';
import { CommitQueue } from './commit-queue.js';
import type { JobRecord } from './job-record.js';
import type { CoordinatorState } from './state.js';
import { WORKERS } from './state-keys.js';

/** Decides what is written to the ledger next: results that count, and what must be stored with them. */
export class Commits {
  readonly queue = new CommitQueue();
  readonly #state: CoordinatorState;
  /** What is to be stored with the next commit, besides trust. */
  #changes: StateChange[] = [];

  constructor(state: CoordinatorState) {
    this.#state = state;
  }

  /** Commits what audits have settled. At the end of a job everything is audited that is to be. */
  settle(job: JobRecord): void {
    if (job.table.waiting === 0n) job.trust.flush();
    const { now } = this.#state.output;
    const base = { receipts: [], number: undefined, job: job.id, early: [], overtaken: [], arrivedAt: now };
    for (const { worker, range, hits } of job.trust.takeSettled()) {
      this.queue.add({ ...base, worker, ranges: [range], hits });
      job.provenance.add(worker, range);
    }
    this.next();
  }

  /** Starts a commit if there is something to write and none is under way. */
  next(): void {
    const { output, jobs, standings } = this.#state;
    const changed = [...jobs.values()].filter(({ trust, provenance }) => trust.hasChanges || provenance.hasChanges);
    const batch = this.queue.next(this.#changes.length + changed.length > 0 || standings.hasChanges);
    if (batch === undefined) return;
    const changes = this.#changes;
    this.#changes = [];
    const add = (scope: string, values: StoredChanges): void => {
      for (const [key, value] of values) changes.push({ scope, key, value });
    };
    add(WORKERS, standings.takeChanges());
    for (const { id, trust, provenance } of changed) {
      add(id, trust.takeChanges());
      add(id, provenance.takeChanges());
    }
    output.push({ kind: 'commit', term: output.term, entries: batch, changes });
  }

  /** Stores a value of a job. */
  store({ id }: JobRecord, key: string, value: PlainValue | undefined): void {
    this.#changes.push({ scope: id, key, value });
    this.next();
  }
}
