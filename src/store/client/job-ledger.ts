import type { Indexed } from '../../engine/makers/reorder-buffer.js';
import type { Intervals } from '../../engine/work/intervals.js';
import type { ChunkSource } from '../../engine/work/source.js';
import { endOf, type Range } from '../../engine/work/space.js';
import { decode } from '../encoding.js';
import { LedgerUnavailableError } from '../thread/connection.js';
import type { JobRecord, JobRequest, JobState } from '../thread/jobs.js';
import type { ClaimedJob, CommitBatch, CommitResult } from '../thread/ledger.js';
import { intervalsOf } from '../thread/progress.js';
import { packHits } from './packed-hits.js';
import { PendingWork } from './pending.js';
import type { LedgerThread } from './thread.js';
import { unavailableError } from './unavailable.js';
import { LedgerSource, type WorkLog } from './work-log.js';

/**
 * A job that this process works on. Finished ranges are written about once a second (`MILLRACE_CHECKPOINT_MS`), hits at
 * once; each write includes all earlier work. A hit's promise resolves when the hit is on disk.
 */
export interface JobLedger<T extends Indexed = Indexed> extends WorkLog<T> {
  readonly id: string;
  readonly job: JobRecord;
  /** The record before this process claimed the job; undefined if the job is new. */
  readonly previous: JobRecord | undefined;
  /** Done before this run. */
  readonly completed: Intervals;
  /** Found before this run, ascending. */
  readonly storedHits: readonly T[];
  /** The source that an engine's search takes work from and reports results to. */
  readonly source: ChunkSource<readonly T[]>;
  /** Working time in ms, including earlier runs. It counts from the opening on, or from `startClock` on if the clock is held. */
  readonly elapsed: number;
  /** What is on disk: indices, and when the last of them were written, by `performance.now()`. */
  readonly stored: { readonly indices: bigint; readonly atMs: number };
  /** True if the command of `--on-hit` has run for the nth hit of an index; `markNotified` records that it has. */
  isNotified(index: bigint, nth: number): boolean;
  markNotified(index: bigint, nth: number): void;
  /** Records work that no search does: for example, output that is safely in a file. */
  record(range: Range, hits?: readonly T[]): Promise<void>;
  /** Resolves when all work so far is on disk. */
  checkpoint(): Promise<void>;
  /** Takes back that ranges are done, which other work may have added just before. Hits stay. Resolves when that is on disk. */
  reopen(ranges: readonly Range[]): Promise<void>;
  /** Sets the ids of the devices that work on the job. */
  setDevices(devices: readonly string[]): void;
  /**
   * The listener is called on a request from another process, and when a job of higher priority starts or stops needing a
   * device.
   */
  listen(listener: JobListener): void;
  /** Working time does not count until `startClock`: devices are opened and kernels are compiled first. */
  holdClock(): void;
  startClock(): void;
  /** Records the state for other processes. Paused time does not count as working time. */
  setPaused(isPaused: boolean): Promise<void>;
  /** Writes everything, sets the job's state and releases the job. `complete` throws unless every index is done. */
  finish(state: Extract<JobState, 'open' | 'complete' | 'answered' | 'cancelled'>, reason?: string): Promise<void>;
  /** Releases a job of which this process has done nothing. Removes it unless it has ranges or hits. */
  discard(): Promise<void>;
}

export interface JobListener {
  onRequest(request: JobRequest): void;
  /** The id of the other job; undefined when it has ended. */
  onOutranked(by: string | undefined): void;
  /** A write failed and will be retried. */
  onWriteRetry(message: string): void;
}

/** Beyond this much unwritten work, searches wait for the disk, and a disk that is still full ends the job. */
const MAX_UNSAVED_MS = 10_000;
const RETRY_MS = 500;

/** How often ranges without hits are written: at most this much work is lost if the process dies. */
function checkpointMs(): number {
  const given = Number(process.env.MILLRACE_CHECKPOINT_MS);
  return given >= 1 ? Math.min(given, MAX_UNSAVED_MS) : 1000;
}

export class JobLedgerClient<T extends Indexed> implements JobLedger<T> {
  readonly job: JobRecord;
  readonly previous: JobRecord | undefined;
  readonly completed: Intervals;
  readonly source: ChunkSource<readonly T[]>;
  readonly storedHits: readonly T[];
  readonly #thread: LedgerThread;
  readonly #notified: Set<string>;
  readonly #timer: ReturnType<typeof setInterval>;
  #listener: JobListener | undefined;
  #unsaved = new PendingWork();
  /** When the oldest unwritten work was done. */
  #unsavedSince: number | undefined;
  #writing: Promise<void> | undefined;
  #nextWrite: Promise<void> | undefined;
  #fault: Error | undefined;
  #outrankedBy: string | undefined;
  #devices: readonly string[] = [];
  #isPaused = false;
  #countedUntil: number;
  #elapsed: number;
  #stored: { readonly indices: bigint; readonly atMs: number };
  /** Working time that is not written yet. */
  #unwrittenMs = 0;

  constructor(thread: LedgerThread, { job, progress, previous }: ClaimedJob) {
    this.#thread = thread;
    this.job = job;
    this.previous = previous;
    this.completed = intervalsOf(progress.done);
    this.storedHits = progress.hits.map(({ index, fields }) => ({ ...(decode(fields) as object), index }) as T);
    this.#notified = new Set(
      progress.hits.filter(({ isNotified }) => isNotified).map(({ index, nth }) => `${index} ${nth}`),
    );
    this.#elapsed = job.elapsedMs;
    this.#stored = { indices: this.completed.total, atMs: performance.now() };
    this.#countedUntil = performance.now();
    this.source = new LedgerSource<T>(this, job.space);
    // A job that has failed or whose ledger is closed has nothing more to write.
    this.#timer = setInterval(() => void this.checkpoint().catch(() => clearInterval(this.#timer)), checkpointMs());
    this.#timer.unref();
  }

  get id(): string {
    return this.job.id;
  }

  get elapsed(): number {
    return this.#elapsed + (this.#isPaused ? 0 : performance.now() - this.#countedUntil);
  }

  get stored(): { readonly indices: bigint; readonly atMs: number } {
    return this.#stored;
  }

  isNotified(index: bigint, nth: number): boolean {
    return this.#notified.has(`${index} ${nth}`);
  }

  markNotified(index: bigint, nth: number): void {
    this.#unsaved.notified.push({ index, nth });
  }

  setDevices(devices: readonly string[]): void {
    this.#devices = devices;
  }

  listen(listener: JobListener): void {
    this.#listener = listener;
  }

  holdClock(): void {
    this.#countElapsed();
    this.#isPaused = true;
  }

  startClock(): void {
    this.#countElapsed();
    this.#isPaused = false;
  }

  async setPaused(isPaused: boolean): Promise<void> {
    this.#countElapsed();
    this.#isPaused = isPaused;
    await this.checkpoint();
    await this.#thread.call('setRunState', this.id, isPaused ? 'paused' : 'running');
  }

  record(range: Range, hits: readonly T[] = []): Promise<void> {
    this.add(range, hits);
    return this.checkpoint();
  }

  add(range: Range | undefined, hits: readonly T[], when: 'at once' | 'soon' = 'at once'): Promise<void> | undefined {
    if (this.#fault) return Promise.reject(this.#fault);
    if (range) this.#unsaved.add({ start: range.start, end: endOf(range), hits: hits.length });
    this.#unsaved.hits.push(...packHits(hits));
    const now = performance.now();
    this.#unsavedSince ??= now;
    const isUrgent = hits.length > 0 && when === 'at once';
    return isUrgent || now - this.#unsavedSince > MAX_UNSAVED_MS ? this.checkpoint() : undefined;
  }

  checkpoint(): Promise<void> {
    if (this.#writing === undefined) {
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
      });
      return this.#writing;
    }
    // Work that arrived during a write goes into the next one, all together.
    this.#nextWrite ??= this.#writing
      .catch(() => undefined)
      .then(() => {
        this.#nextWrite = undefined;
        return this.checkpoint();
      });
    return this.#nextWrite;
  }

  async reopen(ranges: readonly Range[]): Promise<void> {
    await this.checkpoint();
    const cut = await this.#patiently(() => this.#thread.call('reopen', this.id, ranges));
    this.#stored = { indices: this.#stored.indices - cut, atMs: performance.now() };
  }

  async finish(state: 'open' | 'complete' | 'answered' | 'cancelled', reason?: string): Promise<void> {
    clearInterval(this.#timer);
    await this.checkpoint();
    await this.#thread.call('end', this.id, state, ...(reason === undefined ? [] : [reason]));
  }

  async discard(): Promise<void> {
    clearInterval(this.#timer);
    await this.checkpoint();
    await this.#thread.call('discard', this.id);
  }

  async #write(): Promise<void> {
    if (this.#fault) throw this.#fault;
    this.#unwrittenMs += this.#countElapsed();
    const elapsedMs = this.#unwrittenMs;
    const { done, hits, notified } = this.#unsaved;
    this.#unsaved = new PendingWork();
    this.#unsavedSince = undefined;
    const result = await this.#persist({ done, hits: [], packed: hits, notified, elapsedMs, devices: this.#devices });
    const { request, outrankedBy, isWritten } = result;
    if (isWritten) this.#unwrittenMs -= elapsedMs;
    const written = done.reduce((sum, { start, end }) => sum + end - start, 0n);
    this.#stored = { indices: this.#stored.indices + written, atMs: performance.now() };
    if (request) this.#listener?.onRequest(request);
    if (outrankedBy === this.#outrankedBy) return;
    this.#outrankedBy = outrankedBy;
    this.#listener?.onOutranked(outrankedBy);
  }

  #persist(batch: CommitBatch): Promise<CommitResult> {
    return this.#patiently(() => this.#thread.call('commit', this.id, batch));
  }

  /** Retries a write while the disk is full or another process is writing. */
  async #patiently<R>(write: () => Promise<R>): Promise<R> {
    const began = performance.now();
    for (;;) {
      try {
        return await write();
      } catch (error) {
        const isOver = !(error instanceof LedgerUnavailableError) || performance.now() - began > MAX_UNSAVED_MS;
        if (isOver) throw this.#fail(error);
        this.#listener?.onWriteRetry(error.message);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Fails the job: unwritten work is searched again when the job is resumed. */
  #fail(error: unknown): Error {
    const known =
      error instanceof LedgerUnavailableError
        ? unavailableError(error, `to store the progress of job ${this.id}`)
        : error;
    this.#fault = known instanceof Error ? known : new Error(String(known));
    return this.#fault;
  }

  /** Returns the working time since the last call. */
  #countElapsed(): number {
    const now = performance.now();
    const passed = this.#isPaused ? 0 : now - this.#countedUntil;
    this.#countedUntil = now;
    this.#elapsed += passed;
    return passed;
  }
}
