import type { Intervals } from '../../engine/work/intervals.js';
import { endOf, type Range } from '../../engine/work/space.js';
import { type JobLedger, programText, type Store } from '../../store/index.js';
import { type Manifest, type PlainRecord, plainValue, unpackKernelJob } from '../manifest/index.js';
import type { AddedJob, CommitEntry, FoundHit, JobOutcome } from '../protocol/index.js';
import { type FleetWorkload, findWorkload } from '../workload.js';
import type { FleetFiles } from './files.js';
import { HitChecker } from './hit-checker.js';

/** A job of a fleet: its manifest, its record in the ledger, and what is committed of it. */
export class FleetJob {
  readonly id: string;
  readonly name: string;
  readonly manifest: Manifest;
  readonly #ledger: JobLedger<LedgerHit>;
  readonly #check: HitCheck;
  #done: Intervals;
  /** Hits in the ledger whose ranges do not count yet. */
  readonly #early = new Set<bigint>();
  /** In the order of commits. */
  readonly hits: FoundHit[] = [];
  outcome: JobOutcome | undefined;

  private constructor(id: string, name: string, manifest: Manifest, check: HitCheck, ledger: JobLedger<LedgerHit>) {
    this.id = id;
    this.name = name;
    this.manifest = manifest;
    this.#ledger = ledger;
    this.#check = check;
    this.#done = ledger.completed;
    for (const { index, ...fields } of ledger.storedHits) {
      this.hits.push({ index, fields: fields as PlainRecord });
      if (!this.#done.has({ start: index, length: 1n })) this.#early.add(index);
    }
  }

  /** Opens the job in the ledger. Throws if it cannot run, or another process has it. */
  static async open(id: string, manifest: Manifest, { files, store, workloads }: JobPlace): Promise<FleetJob> {
    const { work, space } = manifest;
    const call = { args: [], folder: '' };
    if (work.kind === 'workload') {
      const { name, version, params } = work;
      const workload = findWorkload(workloads, work);
      const spec = {
        command: `fleet ${name}`,
        name: `fleet ${name}`,
        params,
        kernel: `${name} ${version}`,
        space,
        call,
      };
      const check: HitCheck = (hits) => workload.check(params, hits);
      return new FleetJob(id, name, manifest, check, await store.open<LedgerHit>(spec));
    }
    const parts = [work.kernel, ...Object.values(work.buffers)];
    const kernelJob = unpackKernelJob(work, new Map(parts.map(({ digest }) => [digest, files.part(digest)])));
    const { kernel, job, buffers } = kernelJob;
    const checker = new HitChecker(kernelJob);
    const ledger = await store.open<LedgerHit>({
      command: 'fleet run',
      name: `fleet ${kernel.name}`,
      params: { job: plainValue(job), buffers },
      kernel: programText(kernel),
      space,
      call,
    });
    return new FleetJob(id, kernel.name, manifest, (hits) => checker.check(hits), ledger);
  }

  get done(): Intervals {
    return this.#done;
  }

  /** The smallest index that is not committed. */
  get frontier(): bigint {
    return this.#done.firstMissing(this.manifest.space.start);
  }

  /** The job as the coordinator's machine takes it. */
  get added(): AddedJob {
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
      ...(first !== undefined && { firstHit: first }),
    };
  }

  check(hits: readonly FoundHit[]): Promise<string | undefined> {
    return this.#check(hits);
  }

  /** Adds to the next write of the ledger. */
  add({ ranges, hits, early }: CommitEntry): void {
    for (const range of ranges)
      this.#add(
        range,
        hits.filter(({ index }) => index >= range.start && index < endOf(range)),
      );
    if (early.length > 0) this.#add(undefined, early);
  }

  #add(range: Range | undefined, hits: readonly FoundHit[]): void {
    const stored = hits.map(({ index, fields }) => ({ ...fields, index }));
    // The write that follows waits for the disk, and reports whatever fails.
    this.#ledger.add(range, stored, 'soon')?.catch(() => undefined);
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
    await this.#ledger.finish(outcome === 'complete' && !this.#isWhole ? 'answered' : outcome);
  }

  async leave(): Promise<void> {
    if (this.outcome === undefined) await this.#ledger.finish('open', 'the coordinator has stopped');
  }

  get #isWhole(): boolean {
    return this.#done.has(this.manifest.space);
  }
}

/** What jobs are opened with. */
export interface JobPlace {
  readonly files: FleetFiles;
  readonly store: Store;
  readonly workloads: readonly FleetWorkload[];
}

type HitCheck = (hits: readonly FoundHit[]) => Promise<string | undefined>;
type LedgerHit = { readonly index: bigint } & Readonly<Record<string, unknown>>;
