import type { Range } from '../../engine/work/space.js';
import { firstLine } from '../../kernel/error.js';
import type { Store } from '../../store/index.js';
import type { Authority } from '../access/index.js';
import { attachmentsOf, decodeManifest, openSignedManifest } from '../manifest/index.js';
import { type CommitEntry, type JobOutcome, WORKERS } from '../protocol/index.js';
import { isProvenanceKey, namesWorker } from '../trust/index.js';
import type { FleetWorkload } from '../workload.js';
import { describeJob } from './described-job.js';
import type { FleetFiles } from './files.js';
import { FleetJob } from './fleet-job.js';
import { LeftWork } from './left-work.js';
import type { FleetRecord } from './records.js';

export interface ReplicaOptions {
  readonly files: FleetFiles;
  readonly store: Store;
  readonly authority: Authority;
  readonly workloads: readonly FleetWorkload[];
  readonly warn: (message: string) => void;
  /** Gets an attachment from the leader. */
  readonly fetch: (digest: string) => Promise<Uint8Array>;
}

/** What this machine knows of a fleet for good: jobs, ledger, users, state. Only records change it, in the order of the log. */
export class Replica {
  readonly #options: ReplicaOptions;
  /** Those that are open, and those that have ended since the start. */
  readonly jobs = new Map<string, FleetJob>();
  /** By the job's id in the ledger. A job that is submitted again keeps its record there. */
  readonly #hits = new Map<string, number>();
  readonly #left: LeftWork;
  #number: number;

  private constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#left = new LeftWork(options.files.state);
    this.#number = Number(options.files.state.scope(LOG).get(NUMBER) ?? 0);
  }

  static async open(options: ReplicaOptions): Promise<Replica> {
    const replica = new Replica(options);
    for (const [id, signed] of options.files.jobs()) {
      const failed = await replica.#tryOpen(id, signed);
      if (failed !== undefined) options.warn(`job ${id.slice(0, 12)} cannot be resumed: ${firstLine(failed)}`);
    }
    return replica;
  }

  /** The number of the last record that was applied. */
  get number(): number {
    return this.#number;
  }

  /** Hits in the ledger of all jobs that were open since the start. */
  get hitCount(): number {
    return [...this.#hits.values()].reduce((sum, hits) => sum + hits, 0);
  }

  get files(): FleetFiles {
    return this.#options.files;
  }

  /** Whether something of a job that is not over rests on a user's word, or is not settled. */
  names(user: string): boolean {
    const { state } = this.#options.files;
    const jobs = [...state.scopes].filter((scope) => scope !== WORKERS && scope !== LOG);
    return jobs.some((scope) => namesWorker(state.scope(scope), user));
  }

  /** Throws if a job with this manifest could not be opened. */
  check(signed: Uint8Array): { readonly key: string } {
    const { files, workloads } = this.#options;
    return describeJob(decodeManifest(openSignedManifest(signed).manifest), { files, workloads });
  }

  /**
   * Makes a change, which is on disk when this resolves. A record that was applied before, in whole or in part, may come again:
   * the number is written last. Returns the error of a job that cannot be opened here.
   */
  async apply(record: FleetRecord, number: number): Promise<unknown> {
    const { files, authority } = this.#options;
    let failed: unknown;
    switch (record.kind) {
      case 'commit':
        await this.#commit(record.entries);
        break;
      case 'open':
        if (!this.#isOpen(record.job)) failed = await this.#openNew(record.job, record.signed);
        if (record.submitter !== undefined) this.#addSubmitter(record.job, record.submitter);
        break;
      case 'end':
        if (record.outcome === 'replaced') await this.#leave(record.job, record.ledgerId);
        else await this.#end(record.job, record.outcome);
        break;
      case 'reopen':
        await this.#reopen(record.job, record.ledgerId, record.ranges);
        break;
      case 'user':
        await authority.put(record.user);
        break;
      default:
        record satisfies never;
    }
    this.#number = number;
    const changes = record.kind === 'commit' ? record.changes : [];
    const known = changes.filter(({ scope }) => scope === WORKERS || this.#isOpen(scope));
    // The number and what comes before it may be lost: the record is then applied again. Who did what changes with every commit.
    const isReopened = record.kind === 'commit' && record.entries.some(({ reopened }) => reopened !== undefined);
    const isDurable = isReopened || known.some(({ key }) => !isProvenanceKey(key));
    files.state.apply([...known, { scope: LOG, key: NUMBER, value: number }], isDurable);
    return failed;
  }

  /** For `millrace jobs`. */
  async setPriority({ ledgerId }: FleetJob, priority: number): Promise<void> {
    await this.#options.store.setPriority(ledgerId, priority);
  }

  #isOpen(id: string): boolean {
    const job = this.jobs.get(id);
    return job !== undefined && job.outcome === undefined;
  }

  async close(): Promise<void> {
    for (const job of this.jobs.values()) await job.leave();
    this.#options.files.state.close();
  }

  async #commit(entries: readonly CommitEntry[]): Promise<void> {
    let added: AddedEntry[] = [];
    for (const entry of entries) {
      const job = this.jobs.get(entry.job);
      if (job === undefined) continue;
      if (entry.reopened) {
        // What comes before may count the same indices.
        await this.#write(added);
        added = [];
        await job.reopen(entry.reopened);
      }
      added.push({ job, entry: job.add(entry) });
    }
    await this.#write(added);
  }

  async #write(added: readonly AddedEntry[]): Promise<void> {
    await Promise.all([...new Set(added.map(({ job }) => job))].map((job) => job.write()));
    for (const { job, entry } of added) {
      job.committed(entry);
      this.#countHits(job);
    }
  }

  #countHits({ ledgerId, hitCount }: FleetJob): void {
    this.#hits.set(ledgerId, hitCount);
  }

  /** The job is not known any more: it is opened when it is submitted again. */
  async #reopen(id: string, ledgerId: string, ranges: readonly Range[]): Promise<void> {
    const open = [...this.jobs.values()].find((job) => job.ledgerId === ledgerId && job.outcome === undefined);
    // It has been submitted again, and this is an old record that is applied once more.
    if (open) return open.reopen(ranges);
    await this.#options.store.reopen(ledgerId, ranges, 'a worker was revoked that has done some of it');
    this.jobs.delete(id);
  }

  async #openNew(id: string, signed: Uint8Array): Promise<unknown> {
    const { files } = this.#options;
    files.saveJob(id, signed);
    const failed = await this.#tryOpen(id, signed);
    if (failed !== undefined) files.removeJob(id);
    return failed;
  }

  #addSubmitter(id: string, user: string): void {
    if (!this.#isOpen(id)) return;
    this.jobs.get(id)?.submitters.add(user);
    this.#options.files.state.apply([{ scope: id, key: `${SUBMITTER}${user}`, value: true }]);
  }

  async #tryOpen(id: string, signed: Uint8Array): Promise<unknown> {
    const { files, store, workloads, fetch } = this.#options;
    try {
      const manifest = decodeManifest(openSignedManifest(signed).manifest);
      for (const { digest } of attachmentsOf(manifest)) if (!files.has(digest)) files.savePart(await fetch(digest));
      const described = describeJob(manifest, { files, workloads });
      const job = await FleetJob.open(id, manifest, described, store);
      for (const key of files.state.scope(id).keys())
        if (key.startsWith(SUBMITTER)) job.submitters.add(key.slice(SUBMITTER.length));
      this.jobs.set(id, job);
      this.#countHits(job);
      this.#takeOver(job);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async #end(id: string, outcome: JobOutcome): Promise<void> {
    const job = this.jobs.get(id);
    if (job?.outcome === undefined) await job?.end(outcome);
    this.#options.files.removeJob(id);
  }

  /** Leaves a job whose work goes on in another one. */
  async #leave(id: string, ledgerId = this.jobs.get(id)?.ledgerId): Promise<void> {
    const job = this.jobs.get(id);
    this.jobs.delete(id);
    await job?.leave('submitted in another form');
    if (ledgerId !== undefined) this.#left.leave(id, ledgerId, job?.witness);
    // In a backup the other one may be open already.
    for (const other of this.jobs.values())
      if (other.ledgerId === ledgerId && other.outcome === undefined) this.#takeOver(other);
    this.#options.files.removeJob(id);
  }

  #takeOver({ id, ledgerId, witness }: FleetJob): void {
    this.#left.takeOver(id, ledgerId, witness);
  }
}

interface AddedEntry {
  readonly job: FleetJob;
  readonly entry: CommitEntry;
}

/** Keys of a job's submitters begin with it. */
const SUBMITTER = 'submitter.';
const LOG = 'log';
const NUMBER = 'number';
