import { Intervals } from '../../../engine/work/intervals.js';
import type { PlainValue } from '../../manifest/index.js';
import type { Identity, StoredChanges } from '../../trust/index.js';
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
    for (const { worker, range } of job.trust.takeAgreements()) job.provenance.agree(worker, range);
    for (const { worker, range, hits } of job.trust.takeSettled()) {
      this.queue.add({ ...base, worker, ranges: [range], hits });
      job.provenance.add(worker, range);
    }
    this.next();
  }

  /**
   * Takes back what counts by the word of workers alone that are not believed any more: proven wrong, or revoked. It goes to the
   * ledger with the next commit. A coordinator that dies before that does it again when the job is added.
   */
  reopen(job: JobRecord): void {
    const { standings, output } = this.#state;
    const { provenance, table, trust } = job;
    const isBarred = (worker: Identity): boolean => standings.of(worker) === 'barred';
    if (!provenance.involves(isBarred)) return;
    // What new workers did counts because others have agreed: those have to be believed still.
    const isDoubted = (worker: Identity): boolean => ['barred', 'new'].includes(standings.of(worker));
    const doubted = provenance.restingOn(isDoubted, (worker) => !isBarred(worker));
    if (doubted.isEmpty) return;
    // Where ranges were joined, some are not done, or wait for audits.
    let reopened = Intervals.none;
    for (const range of doubted) for (const part of table.counted.within(range)) reopened = reopened.add(part);
    for (const range of trust.unsettledRanges) reopened = reopened.remove(range);
    provenance.remove(doubted);
    if (reopened.isEmpty) return;
    for (const range of reopened) table.revoke(range);
    job.reopened += reopened.total;
    const ranges = [...reopened];
    const none = { receipts: [], number: undefined, ranges: [], hits: [], early: [], overtaken: [] };
    this.queue.add({ ...none, worker: '', job: job.id, reopened: ranges, arrivedAt: output.now });
    output.push({ kind: 'reopened', job: job.id, indices: reopened.total, ranges: ranges.length });
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
