import { resolve } from 'node:path';
import type { Indexed } from '../../engine/makers/reorder-buffer.js';
import type { Range } from '../../engine/work/space.js';
import { normalized } from '../encoding.js';
import { type Identity, jobKeyOf } from '../identity.js';
import { LedgerUnavailableError } from '../thread/connection.js';
import type { ExportedJob } from '../thread/exchange.js';
import { type JobCall, type JobRecord, type JobRequest, noSuchJobError } from '../thread/jobs.js';
import type { JobSummary } from '../thread/ledger.js';
import type { DoneRange, HitPage, HitQuery, JobProgress } from '../thread/progress.js';
import { hasNoLedger } from '../thread/set-aside.js';
import type { StoredTuning, TuningKey, TuningResult } from '../thread/tuning.js';
import { type JobLedger, JobLedgerClient } from './job-ledger.js';
import { LedgerThread } from './thread.js';
import { unavailableError } from './unavailable.js';

export interface StoreOptions {
  /**
   * Receives messages for the user: that the ledger was damaged, and what was done about it. Default:
   * `process.emitWarning`.
   */
  readonly warn?: (notice: string) => void;
}

/** Opens the ledger of a data directory. Creates the directory and the ledger if they are missing. */
export async function openStore(directory: string, options: StoreOptions = {}): Promise<Store> {
  const { warn = (notice) => process.emitWarning(notice) } = options;
  const thread = new LedgerThread(resolve(directory), warn);
  try {
    for (const notice of await thread.call('notices')) warn(notice);
    return new Store(resolve(directory), thread);
  } catch (error) {
    await thread.close().catch(() => undefined); // if the thread has died, the error is the same
    throw error instanceof LedgerUnavailableError ? unavailableError(error, 'the ledger') : error;
  }
}

/** Opens the ledger of a data directory if there is one. Without one nothing is created: the store has no jobs. */
export async function openStoreIfPresent(directory: string, options: StoreOptions = {}): Promise<Store> {
  return hasNoLedger(directory) ? new EmptyStore(resolve(directory)) : openStore(directory, options);
}

/** A job as a command describes it. */
export interface JobSpec extends Identity {
  /** Display name: `run kernel.ts`. */
  readonly name: string;
  /** The command line that resumes the job. Must not contain credentials: it is stored in the file, and shown. */
  readonly call: JobCall;
  /** Higher is more important. Default: the stored priority, or 0. */
  readonly priority?: number;
  /** Starts from the beginning even if progress is stored. */
  readonly restart?: boolean;
  /** Restarts a finished job and deletes its record: its output is stored elsewhere, in a file. */
  readonly restartIfFinished?: boolean;
}

/** The contents of a data directory: jobs, their progress and hits, and tunings. */
export class Store {
  readonly directory: string;
  readonly #thread: LedgerThread;

  constructor(directory: string, thread: LedgerThread) {
    this.directory = directory;
    this.#thread = thread;
  }

  /** Claims a job, to start or resume it. Throws `io` if another process has it. */
  async open<T extends Indexed>(spec: JobSpec): Promise<JobLedger<T>> {
    const { name, command, space, call, priority, restart, restartIfFinished } = spec;
    const claimed = await this.#translateErrors(
      this.#thread.call('begin', {
        key: jobKeyOf(spec),
        name,
        command,
        params: normalized(spec.params) as Record<string, unknown>,
        space,
        call,
        ...(priority !== undefined && { priority }),
        ...(restart !== undefined && { restart }),
        ...(restartIfFinished !== undefined && { restartIfFinished }),
      }),
    );
    return new JobLedgerClient<T>(this.#thread, claimed);
  }

  /** Takes a lock between processes until the store is closed. False if another process has it. */
  hold(name: string): Promise<boolean> {
    return this.#translateErrors(this.#thread.call('hold', name));
  }

  /** Writes a copy of the ledger to another folder, whole and of one moment, while others may write to it. */
  backup(folder: string): Promise<void> {
    return this.#translateErrors(this.#thread.call('backup', resolve(folder)));
  }

  jobs(): Promise<JobSummary[]> {
    return this.#translateErrors(this.#thread.call('jobs'));
  }

  /** Finds a job by its id, a prefix of its id, or `last`. */
  find(id: string): Promise<JobSummary> {
    return this.#translateErrors(this.#thread.call('find', id));
  }

  /** Returns the job that a command would resume. */
  async findByIdentity(identity: Identity): Promise<JobRecord | undefined> {
    const key = jobKeyOf(identity);
    const all = (await this.jobs()).map(({ job }) => job).filter((job) => job.key === key);
    return all.sort((a, b) => b.generation - a.generation)[0];
  }

  /** Returns a job's ranges and hits. */
  progress(id: string): Promise<JobProgress> {
    return this.#translateErrors(this.#thread.call('progress', id));
  }

  /** Returns some of a job's hits. */
  hits(id: string, query: HitQuery): Promise<HitPage> {
    return this.#translateErrors(this.#thread.call('hits', id, query));
  }

  /** Returns a job's finished ranges. */
  ranges(id: string): Promise<DoneRange[]> {
    return this.#translateErrors(this.#thread.call('ranges', id));
  }

  /** Sends a request to the process that runs a job, which polls about once a second. */
  request(id: string, request: JobRequest): Promise<void> {
    return this.#translateErrors(this.#thread.call('request', id, request));
  }

  /** Cancels a job that no process runs. */
  cancel(id: string): Promise<void> {
    return this.#translateErrors(this.#thread.call('cancel', id));
  }

  /** Reopens ranges of a job that no process runs: they are done again when it resumes. Keeps their hits. Ignores an unknown job. */
  reopen(id: string, ranges: readonly Range[], reason: string): Promise<void> {
    return this.#translateErrors(this.#thread.call('reopenEnded', id, ranges, reason));
  }

  setPriority(id: string, priority: number): Promise<void> {
    return this.#translateErrors(this.#thread.call('setPriority', id, priority));
  }

  /** Removes a job with its hits. */
  remove(id: string): Promise<void> {
    return this.#translateErrors(this.#thread.call('remove', id));
  }

  export(id: string): Promise<ExportedJob> {
    return this.#translateErrors(this.#thread.call('export', id));
  }

  /** Adds an exported job, given as an object or as text. */
  async import(given: unknown): Promise<{ readonly id: string; readonly indices: bigint; readonly hits: number }> {
    const { exportText } = await import('../thread/exchange.js');
    return this.#translateErrors(this.#thread.call('import', exportText(given)));
  }

  tuning(key: TuningKey): Promise<TuningResult | undefined> {
    return this.#translateErrors(this.#thread.call('tuning', key));
  }

  tunings(): Promise<StoredTuning[]> {
    return this.#translateErrors(this.#thread.call('tunings'));
  }

  keepTuning(key: TuningKey, timings: unknown): Promise<void> {
    return this.#translateErrors(this.#thread.call('keepTuning', key, timings));
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #translateErrors<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      throw error instanceof LedgerUnavailableError ? unavailableError(error, 'the ledger') : error;
    }
  }
}

/** The store of a directory without a ledger. It has no jobs, so nothing but a search for them can be asked. */
class EmptyStore extends Store {
  constructor(directory: string) {
    super(directory, undefined as never);
  }

  override async jobs(): Promise<JobSummary[]> {
    return [];
  }

  override async find(id: string): Promise<JobSummary> {
    throw noSuchJobError(id);
  }

  override async close(): Promise<void> {}
}
