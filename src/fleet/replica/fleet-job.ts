import type { Intervals } from '../../engine/work/intervals.js';
import { endOf, type Range } from '../../engine/work/space.js';
import type { JobLedger, Store } from '../../store/index.js';
import type { JobWork } from '../job-work.js';
import { encodeValues, type Manifest, type PlainRecord } from '../manifest/index.js';
import type { AddedJob, CommitEntry, FoundHit, JobOutcome } from '../protocol/index.js';
import { Provenance } from '../trust/index.js';
import type { DescribedJob } from './described-job.js';
import { SubmitterChecks } from './submitter-checks.js';

/** A job of a fleet: its manifest, its record in the ledger, and what is committed of it. */
export class FleetJob {
  readonly id: string;
  readonly name: string;
  readonly manifest: Manifest;
  /** Identifies its record in the ledger. Manifests that differ in lines of source, the mode or the witnesses have the same. */
  readonly key: string;
  readonly #ledger: JobLedger<LedgerHit>;
  readonly #work: JobWork;
  #done: Intervals;
  /** Hits in the ledger whose ranges do not count yet. */
  readonly #early = new Set<bigint>();
  /** In the order of commits. */
  readonly hits: FoundHit[] = [];
  outcome: JobOutcome | undefined;
  /** Users that have submitted it. None is known of a job that an earlier release has opened. */
  readonly submitters = new Set<string>();
  /** Who has done what counts of it, as far as it was counted here or in a coordinator before this one. */
  readonly provenance = new Provenance();
  /** What the submitter checks before it is committed. */
  readonly checks = new SubmitterChecks();

  private constructor(id: string, manifest: Manifest, described: DescribedJob, ledger: JobLedger<LedgerHit>) {
    this.id = id;
    this.name = described.name;
    this.key = described.key;
    this.manifest = manifest;
    this.#ledger = ledger;
    this.#work = described.work;
    this.#done = ledger.completed;
    for (const { index, ...fields } of ledger.storedHits) {
      this.hits.push({ index, fields: fields as PlainRecord });
      if (!this.#done.has({ start: index, length: 1n })) this.#early.add(index);
    }
  }

  /** Opens the job in the ledger. Throws if another process has it. */
  static async open(id: string, manifest: Manifest, described: DescribedJob, store: Store): Promise<FleetJob> {
    return new FleetJob(id, manifest, described, await store.open<LedgerHit>(described.spec));
  }

  /** Its id in the ledger. */
  get ledgerId(): string {
    return this.#ledger.id;
  }

  /** The condition of its witnesses, which its key does not tell. */
  get witness(): string {
    const { work } = this.manifest;
    return work.kind === 'kernel' && work.witness ? encodeValues(work.witness) : '';
  }

  get hitCount(): number {
    return this.hits.length;
  }

  get done(): Intervals {
    return this.#done;
  }

  /** The smallest index that is not committed. */
  get frontier(): bigint {
    return this.#done.firstMissing(this.manifest.space.start);
  }

  /** The job as the coordinator's machine takes it, with what earlier ones have stored of it. */
  added(state: AddedJob['state']): AddedJob {
    const { space, mode, work } = this.manifest;
    const first = this.hits.reduce<bigint | undefined>(
      (least, { index }) => (least === undefined || index < least ? index : least),
      undefined,
    );
    return {
      id: this.id,
      name: work.kind === 'kernel' ? 'kernel' : work.name,
      space,
      mode,
      counted: this.#done,
      priority: this.#ledger.job.priority,
      provenance: this.provenance,
      ...(state && { state }),
      ...(this.#work.witnesses && { witnesses: this.#work.witnesses }),
      ...(first !== undefined && { firstHit: first }),
    };
  }

  /** Says what is wrong with hits and witnesses; undefined if nothing is. */
  async check(hits: readonly FoundHit[], witnesses: readonly FoundHit[], bits = 0): Promise<string | undefined> {
    const wrong = hits.length > 0 ? await this.#work.check(hits) : undefined;
    if (wrong !== undefined || witnesses.length === 0) return wrong;
    return this.#work.checkWitnesses(witnesses, bits);
  }

  /** Adds to the next write of the ledger what it does not have. Returns that. */
  add({ job, ranges, hits, early }: CommitEntry): CommitEntry {
    const missing = ranges.flatMap((range) => [...this.#done.missing(range)]);
    const added: FoundHit[] = [];
    for (const range of missing) {
      const found = hits.filter(({ index }) => index >= range.start && index < endOf(range));
      this.#add(range, found);
      added.push(...found);
    }
    if (early.length > 0) this.#add(undefined, early);
    return { job, ranges: missing, hits: added, early };
  }

  #add(range: Range | undefined, hits: readonly FoundHit[]): void {
    const stored = hits.map(({ index, fields }) => ({ ...fields, index }));
    // The write that follows waits for the disk, and reports whatever fails.
    this.#ledger.add(range, stored, 'soon')?.catch(() => undefined);
  }

  /** Takes back that ranges are done, and resolves when that is on disk. Their hits stay, as those of ranges that do not count yet. */
  async reopen(ranges: readonly Range[]): Promise<void> {
    await this.#ledger.reopen(ranges);
    for (const range of ranges) this.#done = this.#done.remove(range);
    for (const { index } of this.hits) if (!this.#done.has({ start: index, length: 1n })) this.#early.add(index);
  }

  /** Resolves when everything that was added is on disk. */
  write(): Promise<void> {
    return this.#ledger.checkpoint();
  }

  /** Shows what is on disk. */
  committed({ ranges, hits, early }: CommitEntry): void {
    // The ledger keeps a hit once, and so does this: all hits of an index come together.
    const isNew = ({ index }: FoundHit): boolean => !this.#early.has(index);
    this.hits.push(...hits.filter(isNew));
    const isCounted = ({ index }: FoundHit): boolean => this.#done.has({ start: index, length: 1n });
    const fresh = early.filter((hit) => isNew(hit) && !isCounted(hit));
    this.hits.push(...fresh);
    for (const { index } of fresh) this.#early.add(index);
    for (const range of ranges) this.#done = this.#done.add(range);
    for (const { index } of hits) this.#early.delete(index);
  }

  async end(outcome: JobOutcome): Promise<void> {
    this.outcome = outcome;
    this.checks.leave();
    this.#ledger.setDevices(this.provenance.workers.slice(0, MAX_NAMES).map(({ worker }) => worker));
    await this.#ledger.finish(outcome === 'complete' && !this.#isWhole ? 'answered' : outcome);
  }

  /** Leaves it in the ledger as it is. */
  async leave(reason = 'the coordinator has stopped'): Promise<void> {
    this.checks.leave();
    if (this.outcome === undefined) await this.#ledger.finish('open', reason);
  }

  get #isWhole(): boolean {
    return this.#done.has(this.manifest.space);
  }
}

/** Of workers that the ledger lists for a job that is over. */
const MAX_NAMES = 100;

type LedgerHit = { readonly index: bigint } & Readonly<Record<string, unknown>>;
