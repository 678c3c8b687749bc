import type { Indexed } from '../../engine/makers/harvest.js';
import type { Intervals } from '../../engine/work/intervals.js';
import type { ChunkSource } from '../../engine/work/source.js';
import { endOf, type Range } from '../../engine/work/space.js';
import { unspell } from '../encoding.js';
import { Unavailable } from '../thread/connection.js';
import type { JobRecord, JobState, Request } from '../thread/jobs.js';
import type { Batch, Begun, Standing } from '../thread/ledger.js';
import { intervalsOf } from '../thread/progress.js';
import { pack } from './packed-hits.js';
import { Pending } from './pending.js';
import type { LedgerThread } from './thread.js';
import { unavailable } from './unavailable.js';
import { BookSource, type Books } from './work-log.js';

/**
 * A job that this process works on. Finished ranges are written about once a second, hits at once; each write includes
 * all earlier work. A hit's promise resolves when the hit is on disk.
 */
export interface JobLedger<T extends Indexed = Indexed> extends Books<T> {
  readonly id: string;
  readonly job: JobRecord;
  /** The record before this process claimed the job; undefined if the job is new. */
  readonly before: JobRecord | undefined;
  /** Done before this run. */
  readonly completed: Intervals;
  /** Found before this run, ascending. */
  readonly found: readonly T[];
  /** The source that an engine's search takes work from and reports results to. */
  readonly source: ChunkSource<readonly T[]>;
  /** Working time in ms, including earlier runs. */
  readonly elapsed: number;
  /** True if the command of `--on-hit` has run for the nth hit of an index; `tell` records that it has. */
  isTold(index: bigint, nth: number): boolean;
  tell(index: bigint, nth: number): void;
  /** Records work that no search does: for example, output that is safely in a file. */
  record(range: Range, hits?: readonly T[]): Promise<void>;
  /** Resolves when all work so far is on disk. */
  checkpoint(): Promise<void>;
  /** Sets the ids of the devices that work on the job. */
  uses(devices: readonly string[]): void;
  /**
   * The listener is called on a request from another process, and when a job of higher priority starts or stops needing a
   * device.
   */
  listen(listener: JobListener): void;
  /** Records the state for other processes. Paused time does not count as working time. */
  paused(isPaused: boolean): Promise<void>;
  /** Writes everything, sets the job's state and releases the job. `complete` throws unless every index is done. */
  finish(state: Extract<JobState, 'open' | 'complete' | 'answered' | 'cancelled'>, reason?: string): Promise<void>;
}

export interface JobListener {
  asked(request: Request): void;
  /** The id of the other job; undefined when it has ended. */
  outranked(by: string | undefined): void;
  /** A write failed and will be retried. */
  troubled(message: string): void;
}

/** How often ranges without hits are written: at most this much work is lost if the process dies. */
const TICK_MS = 1000;
/** Beyond this much unwritten work, searches wait for the disk, and a disk that is still full ends the job. */
const MOST_UNSAVED_MS = 10_000;
const RETRY_MS = 500;

export class BookedJob<T extends Indexed> implements JobLedger<T> {
  readonly job: JobRecord;
  readonly before: JobRecord | undefined;
  readonly completed: Intervals;
  readonly source: ChunkSource<readonly T[]>;
  readonly found: readonly T[];
  readonly #thread: LedgerThread;
  readonly #told: Set<string>;
  readonly #timer: ReturnType<typeof setInterval>;
  #listener: JobListener | undefined;
  #unsaved = new Pending();
  /** When the oldest unwritten work was done. */
  #since: number | undefined;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #fault: Error | undefined;
  #outrankedBy: string | undefined;
  #devices: readonly string[] = [];
  #isPaused = false;
  #counted: number;
  #elapsed: number;
  /** Working time that is not written yet. */
  #unnoted = 0;

  constructor(thread: LedgerThread, { job, progress, before }: Begun) {
    this.#thread = thread;
    this.job = job;
    this.before = before;
    this.completed = intervalsOf(progress.done);
    this.found = progress.hits.map(({ index, fields }) => ({ ...(unspell(fields) as object), index }) as T);
    this.#told = new Set(progress.hits.filter(({ told }) => told).map(({ index, nth }) => `${index} ${nth}`));
    this.#elapsed = job.elapsedMs;
    this.#counted = performance.now();
    this.source = new BookSource<T>(this, job.space);
    // A job that has failed or whose ledger is closed has nothing more to write.
    this.#timer = setInterval(() => void this.checkpoint().catch(() => clearInterval(this.#timer)), TICK_MS);
    this.#timer.unref();
  }

  get id(): string {
    return this.job.id;
  }

  get elapsed(): number {
    return this.#elapsed + (this.#isPaused ? 0 : performance.now() - this.#counted);
  }

  isTold(index: bigint, nth: number): boolean {
    return this.#told.has(`${index} ${nth}`);
  }

  tell(index: bigint, nth: number): void {
    this.#unsaved.told.push({ index, nth });
  }

  uses(devices: readonly string[]): void {
    this.#devices = devices;
  }

  listen(listener: JobListener): void {
    this.#listener = listener;
  }

  async paused(isPaused: boolean): Promise<void> {
    this.#count();
    this.#isPaused = isPaused;
    await this.checkpoint();
    await this.#thread.call('mark', this.id, isPaused ? 'paused' : 'running');
  }

  record(range: Range, hits: readonly T[] = []): Promise<void> {
    this.add(range, hits);
    return this.checkpoint();
  }

  add(range: Range | undefined, hits: readonly T[], when: 'at once' | 'soon' = 'at once'): Promise<void> | undefined {
    if (this.#fault) return Promise.reject(this.#fault);
    if (range) this.#unsaved.add({ start: range.start, past: endOf(range), hits: hits.length });
    this.#unsaved.hits.push(...pack(hits));
    const now = performance.now();
    this.#since ??= now;
    const isUrgent = hits.length > 0 && when === 'at once';
    return isUrgent || now - this.#since > MOST_UNSAVED_MS ? this.checkpoint() : undefined;
  }

  checkpoint(): Promise<void> {
    if (this.#writing === undefined) {
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
      });
      return this.#writing;
    }
    // Work that arrived during a write goes into the next one, all together.
    this.#next ??= this.#writing
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.checkpoint();
      });
    return this.#next;
  }

  async finish(state: 'open' | 'complete' | 'answered' | 'cancelled', reason?: string): Promise<void> {
    clearInterval(this.#timer);
    await this.checkpoint();
    await this.#thread.call('end', this.id, state, ...(reason === undefined ? [] : [reason]));
  }

  async #write(): Promise<void> {
    if (this.#fault) throw this.#fault;
    this.#unnoted += this.#count();
    const elapsedMs = this.#unnoted;
    const { done, hits, told } = this.#unsaved;
    this.#unsaved = new Pending();
    this.#since = undefined;
    const standing = await this.#persist({ done, hits: [], packed: hits, told, elapsedMs, devices: this.#devices });
    const { request, outrankedBy, isWritten } = standing;
    if (isWritten) this.#unnoted -= elapsedMs;
    if (request) this.#listener?.asked(request);
    if (outrankedBy === this.#outrankedBy) return;
    this.#outrankedBy = outrankedBy;
    this.#listener?.outranked(outrankedBy);
  }

  /** Commits a batch. Retries while the disk is full or another process is writing. */
  async #persist(batch: Batch): Promise<Standing> {
    const began = performance.now();
    for (;;) {
      try {
        return await this.#thread.call('commit', this.id, batch);
      } catch (error) {
        const isOver = !(error instanceof Unavailable) || performance.now() - began > MOST_UNSAVED_MS;
        if (isOver) throw this.#fail(error);
        this.#listener?.troubled(error.message);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Fails the job: unwritten work is searched again when the job is resumed. */
  #fail(error: unknown): Error {
    const known =
      error instanceof Unavailable ? unavailable(error, `to write down what job ${this.id} has done`) : error;
    this.#fault = known instanceof Error ? known : new Error(String(known));
    return this.#fault;
  }

  /** Returns the working time since the last call. */
  #count(): number {
    const now = performance.now();
    const passed = this.#isPaused ? 0 : now - this.#counted;
    this.#counted = now;
    this.#elapsed += passed;
    return passed;
  }
}
