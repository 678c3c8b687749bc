import type { Intervals } from '../../engine/work/intervals.js';
import { endOf } from '../../engine/work/space.js';
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
    for (const { index, ...fields } of ledger.storedHits) this.hits.push({ index, fields: fields as PlainRecord });
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
  add({ ranges, hits }: CommitEntry): void {
    for (const range of ranges) {
      const own = hits.filter(({ index }) => index >= range.start && index < endOf(range));
      // The write that follows waits for the disk, and reports whatever fails.
      this.#ledger
        .add(
          range,
          own.map(({ index, fields }) => ({ ...fields, index })),
          'soon',
        )
        ?.catch(() => undefined);
    }
  }

  /** Resolves when everything that was added is on disk. */
  write(): Promise<void> {
    return this.#ledger.checkpoint();
  }

  /** Shows what is on disk. */
  committed({ ranges, hits }: CommitEntry): void {
    for (const range of ranges) this.#done = this.#done.add(range);
    this.hits.push(...hits);
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
