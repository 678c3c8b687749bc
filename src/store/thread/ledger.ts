import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endOf, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { type PackedHits, unpackHits } from '../client/packed-hits.js';
import { indexText } from '../encoding.js';
import { jobIdOf } from '../identity.js';
import { type Connection, LedgerDamagedError } from './connection.js';
import { type ExportedJob, exportJob, exportText, importJob } from './exchange.js';
import { type DamagedFile, LedgerFile } from './file.js';
import {
  addJob,
  addWorkTime,
  allJobs,
  claimJob,
  FINAL_STATES,
  findById,
  findByKey,
  type JobDefinition,
  type JobRecord,
  type JobRequest,
  type JobState,
  noSuchJobError,
  removeJob,
  removeUnusedJob,
  runningJobsAbove,
  setRequest,
  setState,
} from './jobs.js';
import { LOCKS, Lock } from './lock.js';
import {
  addHits,
  addRange,
  cutRanges,
  type DoneRange,
  HitCounts,
  type HitPage,
  type HitQuery,
  intervalsOf,
  type JobProgress,
  readHits,
  readProgress,
  readRanges,
  type StoredHit,
} from './progress.js';
import { newestLedger } from './set-aside.js';
import {
  allTunings,
  isSameKey,
  replaceTuning,
  type StoredTuning,
  type TuningKey,
  type TuningResult,
} from './tuning.js';

/**
 * The ledger: jobs, progress, hits and tunings on disk. Every method is synchronous and may wait for a disk. The store's
 * thread calls it (worker.ts); tests call it directly.
 */
export class Ledger {
  readonly directory: string;
  #file: LedgerFile;
  readonly #notices: string[];
  readonly #locks = new Map<string, Lock>();
  /** Locks that are no job's. */
  readonly #held = new Map<string, Lock>();
  readonly #hitCounts = new HitCounts();

  constructor(directory: string) {
    this.directory = directory;
    this.#file = LedgerFile.open(directory, (connection) => this.#prune(connection));
    this.#notices = [...this.#file.notices];
  }

  /** Returns messages for the user about the file, each once. */
  notices(): string[] {
    return this.#notices.splice(0);
  }

  /** Takes a lock until the ledger is closed. False if another process has it. */
  hold(name: string): boolean {
    const lock = this.#held.get(name) ?? Lock.claim(this.directory, name);
    if (lock) this.#held.set(name, lock);
    return lock !== undefined;
  }

  /** Writes a copy of the ledger to another folder, whole and of one moment. */
  backup(folder: string): void {
    this.#withRecovery(() => this.#file.copyTo(join(folder, newestLedger(this.directory))));
  }

  /** Claims a new or stored job for this process. Throws `io` if another process has it. */
  begin(definition: JobDefinition): ClaimedJob {
    return this.#withRecovery(() => {
      const known = findByKey(this.#connection, definition.key);
      if (known) checkSpace(known, definition);
      const isDiscarded =
        known !== undefined && definition.restartIfFinished === true && FINAL_STATES.includes(known.state);
      const isRestart = definition.restart === true || isDiscarded;
      const generation = known === undefined ? 0 : known.generation + (isRestart ? 1 : 0);
      const id = jobIdOf(definition.key, generation);
      // The previous generation is locked, too: otherwise two processes that restart would both create the next one.
      const previousLock = known && isRestart ? this.#lockJob(known.id, definition.name) : undefined;
      let lock: Lock | undefined;
      try {
        lock = this.#lockJob(id, definition.name);
        this.#commit(() => {
          if (known && isDiscarded) removeJob(this.#connection, known.id);
          else if (known && previousLock) setState(this.#connection, known.id, 'replaced');
          if (known === undefined || previousLock) addJob(this.#connection, definition, generation, Date.now());
          claimJob(this.#connection, id, definition, Date.now());
        });
        const claimed = { job: this.#job(id), progress: readProgress(this.#connection, id), previous: known };
        this.#locks.set(id, lock);
        return claimed;
      } catch (error) {
        lock?.release();
        throw error;
      } finally {
        previousLock?.release();
      }
    });
  }

  /** Writes what a job has done since the last commit; durable on return. */
  commit(id: string, batch: CommitBatch): CommitResult {
    const { done, notified, elapsedMs, devices } = batch;
    const hits = [...batch.hits, ...(batch.packed ?? []).flatMap(unpackHits)];
    const isEmpty = done.length + hits.length + notified.length === 0 && elapsedMs < IDLE_MS;
    if (!isEmpty) {
      this.#commit(() => {
        const now = Date.now();
        addHits(this.#connection, id, hits, now);
        for (const range of done) addRange(this.#connection, id, range);
        for (const { index, nth } of notified) {
          this.#connection.run(
            'UPDATE hits SET told = 1 WHERE job = ? AND at = ? AND nth = ?',
            id,
            indexText(index),
            nth,
          );
        }
        addWorkTime(this.#connection, id, { elapsedMs, devices }, now);
      });
    }
    return { ...this.#takeRequest(id), isWritten: !isEmpty };
  }

  /** Takes back that ranges are done: they are to be done again. Hits stay. Returns the number of indices; durable on return. */
  reopen(id: string, ranges: readonly Range[]): bigint {
    return this.#commit(() => cutRanges(this.#connection, id, ranges));
  }

  /** The same for a job that no process runs, and that is to be resumed then. Does nothing if there is no such job. */
  reopenEnded(id: string, ranges: readonly Range[], reason: string): void {
    if (findById(this.#connection, id) === undefined) return;
    this.#withJobLock(id, () =>
      this.#commit(() => {
        cutRanges(this.#connection, id, ranges);
        setState(this.#connection, id, 'open', reason);
      }),
    );
  }

  /** Records that a job is paused or running, for other processes. */
  setRunState(id: string, state: 'running' | 'paused'): void {
    this.#commit(() => this.#connection.run('UPDATE jobs SET state = ? WHERE id = ?', state, id));
  }

  /** Ends this process's work on a job. Throws for `complete` unless every index is done. */
  end(id: string, state: JobState, reason?: string): void {
    if (state === 'complete') this.#checkComplete(id);
    this.#commit(() => setState(this.#connection, id, state, reason));
    this.#release(id);
  }

  /** Ends this process's work on a job that it has not begun. Removes the job unless it has ranges or hits. */
  discard(id: string): void {
    this.#commit(() => {
      setState(this.#connection, id, 'open');
      removeUnusedJob(this.#connection, id);
    });
    this.#release(id);
  }

  jobs(): JobSummary[] {
    return this.#withRecovery(() => allJobs(this.#connection).map((job) => this.#summary(job)));
  }

  /** Finds a job by its id, a prefix of its id, or `last`. */
  find(given: string): JobSummary {
    const all = this.jobs();
    const [newest] = [...all].sort((a, b) => b.job.lastActiveMs - a.job.lastActiveMs);
    if (given === 'last' && newest) return newest;
    const named = all.filter(({ job: { id } }) => given !== '' && id.startsWith(given));
    const [found] = named;
    if (found && named.length === 1) return found;
    if (named.length === 0) throw noSuchJobError(given);
    throw new MillraceError({
      code: 'usage',
      message: `several jobs begin with ${given}`,
      asked: given,
      advice: `give more characters: ${named.map(({ job: { id } }) => id).join(', ')}`,
    });
  }

  progress(id: string): JobProgress {
    return this.#withRecovery(() => readProgress(this.#connection, id));
  }

  /** Returns some of a job's hits. */
  hits(id: string, query: HitQuery): HitPage {
    return this.#withRecovery(() => readHits(this.#connection, id, query, this.#hitCounts));
  }

  /** Returns a job's finished ranges, without their hits. */
  ranges(id: string): DoneRange[] {
    return this.#withRecovery(() => readRanges(this.#connection, id));
  }

  /** Sends a request to the process that runs a job. */
  request(id: string, request: JobRequest): void {
    this.#commit(() => setRequest(this.#connection, id, request));
  }

  /** Cancels a job that no process runs. */
  cancel(id: string): void {
    this.#withJobLock(id, () => this.#commit(() => setState(this.#connection, id, 'cancelled')));
  }

  setPriority(id: string, priority: number): void {
    this.#commit(() => this.#connection.run('UPDATE jobs SET priority = ? WHERE id = ?', priority, id));
  }

  /** Removes a job that no process runs, with its hits. */
  remove(id: string): void {
    this.#withJobLock(id, () => this.#commit(() => removeJob(this.#connection, id)));
  }

  export(id: string): ExportedJob {
    return this.#withRecovery(() => exportJob(this.#job(id), readProgress(this.#connection, id)));
  }

  /**
   * Adds the ranges and hits of an export, given as an object or as text. Returns the job's id and the number of new
   * indices and hits.
   */
  import(given: unknown): { readonly id: string; readonly indices: bigint; readonly hits: number } {
    return this.#withRecovery(() =>
      importJob(this.#connection, exportText(given), (id, write) => {
        this.#withJobLock(id, () => this.#commit(write));
      }),
    );
  }

  tunings(): StoredTuning[] {
    return allTunings(this.#connection);
  }

  tuning(key: TuningKey): TuningResult | undefined {
    return this.tunings().find((kept) => isSameKey(kept, key));
  }

  keepTuning(key: TuningKey, timings: unknown): void {
    this.#commit(() => replaceTuning(this.#connection, key, timings, Date.now()));
  }

  close(): void {
    for (const id of [...this.#locks.keys()]) this.#release(id);
    for (const lock of this.#held.values()) lock.release();
    this.#file.close();
  }

  get #connection(): Connection {
    return this.#file.connection;
  }

  #job(id: string): JobRecord {
    const job = findById(this.#connection, id);
    if (!job) throw noSuchJobError(id);
    return job;
  }

  #summary(job: JobRecord): JobSummary {
    const done = readRanges(this.#connection, job.id);
    const hits = this.#hitCounts.of(this.#connection, job.id);
    return { job, done: intervalsOf(done).total, ranges: done.length, hits, isRunning: this.#isRunning(job) };
  }

  #takeRequest(id: string): Omit<CommitResult, 'isWritten'> {
    const { request, priority = 0 } = findById(this.#connection, id) ?? {};
    // Another process may have replaced the request meanwhile: the next poll handles that one.
    if (request) {
      const answered = 'UPDATE jobs SET request = NULL WHERE id = ? AND request = ?';
      this.#commit(() => this.#connection.run(answered, id, request));
    }
    return { request, outrankedBy: this.#outrankedBy(id, priority) };
  }

  /** Returns a running job of higher priority that uses one of this job's devices. */
  #outrankedBy(id: string, priority: number): string | undefined {
    const higher = runningJobsAbove(this.#connection, priority);
    if (higher.length === 0) return undefined;
    const own = new Set(findById(this.#connection, id)?.devices);
    return higher.find((job) => job.devices.some((device) => own.has(device)) && this.#isRunning(job))?.id;
  }

  #isRunning({ id, state }: JobRecord): boolean {
    if (this.#locks.has(id)) return true;
    if (isInactive(state)) return false;
    return Lock.isClaimed(this.directory, id);
  }

  /** Runs an action while no process works on the job. */
  #withJobLock(id: string, action: () => void): void {
    const lock = this.#lockJob(id, id);
    try {
      action();
    } finally {
      lock.release();
    }
  }

  #lockJob(id: string, name: string): Lock {
    const lock = this.#locks.has(id) ? undefined : Lock.claim(this.directory, id);
    if (lock) return lock;
    // If the job's state is not running, `owner` is its last process, and the lock is held by a command such as `jobs
    // remove`.
    const { owner, state = 'open' } = findById(this.#connection, id) ?? {};
    throw new MillraceError({
      code: 'io',
      message: `${owner && !isInactive(state) ? `process ${owner.pid} on ${owner.host}` : 'another process'} is working on it`,
      asked: `the job ${id}${name === id ? '' : ` (${name})`}`,
      advice: `wait for it, or end it: \`millrace jobs pause ${id}\`, \`millrace jobs cancel ${id}\``,
    });
  }

  #release(id: string): void {
    const lock = this.#locks.get(id);
    this.#locks.delete(id);
    lock?.release();
  }

  #checkComplete(id: string): void {
    const { space } = this.#job(id);
    const done = intervalsOf(readProgress(this.#connection, id).done);
    const [missing] = done.missing(space);
    if (missing === undefined && done.total === space.length) return;
    throw new Error(
      `job ${id} was reported complete, but ${done.total} of ${space.length} indices are done` +
        (missing ? `; ${missing.start} to ${endOf(missing)} is missing` : ''),
    );
  }

  /** Runs an action, and again on a new ledger if this one turns out to be damaged and is set aside. */
  #withRecovery<T>(action: () => T): T {
    // The file is closed if it was found damaged while another process used it.
    if (!this.#file.isOpen) this.#reopen();
    try {
      return action();
    } catch (error) {
      if (!(error instanceof LedgerDamagedError)) throw error;
      if (this.#locks.size > 0) {
        this.#file.recordDamage();
        throw error;
      }
      this.#reopen(this.#file.closeDamaged(error));
      return action();
    }
  }

  #reopen(suspect?: DamagedFile): void {
    this.#file = LedgerFile.open(this.directory, () => undefined, suspect);
    this.#notices.push(...this.#file.notices);
  }

  /**
   * Runs a transaction. On damage, marks the file: jobs are held now, so the next process that has the ledger alone
   * checks it.
   */
  #commit<T>(action: () => T): T {
    try {
      return this.#file.commit(action);
    } catch (error) {
      if (error instanceof LedgerDamagedError) this.#file.recordDamage();
      throw error;
    }
  }

  /**
   * Deletes finished jobs without hits that were last active more than 90 days ago. Jobs with hits stay until the user
   * removes them. No other process has the ledger open, so lock files of deleted jobs are removed, too.
   */
  #prune(connection: Connection): void {
    const before = Date.now() - KEEP_DAYS * 86_400_000;
    const old = connection.all(
      `SELECT CAST(id AS BLOB) AS id FROM jobs WHERE state IN ('complete', 'answered', 'cancelled', 'replaced') AND active_ms < ?
         AND NOT EXISTS (SELECT 1 FROM hits WHERE job = jobs.id)`,
      before,
    );
    if (old.length === 0) return;
    connection.transact(() => {
      for (const { id } of old) removeJob(connection, String(id));
    });
    for (const { id } of old) {
      const lock = join(this.directory, LOCKS, String(id));
      if (existsSync(lock)) rmSync(lock);
    }
  }
}

export interface ClaimedJob {
  readonly job: JobRecord;
  readonly progress: JobProgress;
  /** The job's previous record; undefined if it is new. */
  readonly previous: JobRecord | undefined;
}

/** What one commit writes. */
export interface CommitBatch {
  readonly done: readonly DoneRange[];
  readonly hits: readonly StoredHit[];
  /** More hits, packed by the main thread. */
  readonly packed?: readonly PackedHits[];
  /** Hits for which the command of `--on-hit` has run. */
  readonly notified: readonly { readonly index: bigint; readonly nth: number }[];
  /** Working time since the last commit. */
  readonly elapsedMs: number;
  readonly devices: readonly string[];
}

export interface CommitResult {
  readonly request: JobRequest | undefined;
  readonly outrankedBy: string | undefined;
  /** False if there was nothing to write. */
  readonly isWritten: boolean;
}

export interface JobSummary {
  readonly job: JobRecord;
  /** Number of indices. */
  readonly done: bigint;
  readonly ranges: number;
  readonly hits: number;
  readonly isRunning: boolean;
}

/** A job's key depends on its space; an imported job brings both, so they may not match. */
function checkSpace({ id, space }: JobRecord, { space: { start, length } }: JobDefinition): void {
  if (space.start === start && space.length === length) return;
  throw new MillraceError({
    code: 'input-format',
    message: `job ${id} was imported with the space ${space.start} to ${endOf(space)}, which is not that of its command`,
    asked: `the space ${start} to ${start + length}`,
    advice: `remove it (\`millrace jobs remove ${id}\`), then run this again`,
  });
}

/** True if no process works on a job in this state. */
const isInactive = (state: JobState): boolean => state !== 'running' && state !== 'paused';

/** How often the working time of a job without other changes is written. */
const IDLE_MS = 10_000;
const KEEP_DAYS = 90;
