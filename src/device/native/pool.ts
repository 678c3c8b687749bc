import { fileURLToPath } from 'node:url';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { MillraceError } from '../../kernel/error.js';
import { type Board, Line, lineWord, newBoard, Pool, STREAMS } from './board.js';
import type { WorkerStart } from './worker.js';

/** What the pool tells its owner, on the main thread. */
export interface PoolEvents {
  /** Something on the board has moved on. True when there is more to wait for. */
  news(): boolean;
  /** A worker died. The pool is of no more use. */
  failed(cause: unknown): void;
}

/** How long a worker may take to end by itself; a slice takes about 2 ms. */
const JOIN_MS = 2000;

/** The main thread's side of the worker threads: created once, joined at close. */
export class WorkerPool {
  readonly board: Board = newBoard();
  readonly threads: number;
  readonly #events: PoolEvents;
  readonly #workers: Worker[] = [];
  readonly #ended: Promise<void>[] = [];
  #watching = false;
  #alive = false;
  #stopping = false;

  constructor(threads: number, events: PoolEvents) {
    this.threads = threads;
    this.#events = events;
  }

  /** Starts the workers; resolves when all of them are at work (about 40 ms). */
  async start(): Promise<void> {
    boards.add(this.board);
    const started = Array.from({ length: this.threads }, () => this.#startOne());
    try {
      await Promise.all(started);
    } catch (cause) {
      await this.stop();
      throw new MillraceError({
        code: 'device-failed',
        message: 'a worker thread of device native could not start',
        asked: `${this.threads} worker threads`,
        advice: 'the cause says why; with too many threads, try fewer',
        cause,
      });
    }
    for (const worker of this.#workers) worker.unref();
  }

  #startOne(): Promise<void> {
    const start: WorkerStart = { memory: this.board.memory, threads: this.threads };
    const worker = new Worker(workerFile(import.meta.url), {
      workerData: start,
      name: 'millrace native',
      env: SHARE_ENV,
      execArgv: [], // flags that this process was started with (loaders, inspectors) are not for the workers
    });
    this.#workers.push(worker);
    this.#ended.push(new Promise((resolve) => worker.once('exit', () => resolve())));
    return new Promise((resolve, reject) => {
      const died = (cause: unknown): void => {
        reject(cause);
        if (!this.#stopping) this.#events.failed(cause);
      };
      worker.once('message', () => resolve());
      worker.once('error', died);
      worker.once('exit', (code) => died(new Error(`a worker thread ended with code ${code}`)));
    });
  }

  /** There is a new command on a queue that was empty. */
  kick(): void {
    const { words } = this.board;
    Atomics.add(words, Pool.work, 1);
    if (Atomics.load(words, Pool.sleepers) > 0) Atomics.notify(words, Pool.work, 1);
  }

  /** Watches the news word until `news()` says that there is nothing more to wait for. Costs about 10 µs per wake-up. */
  watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    const look = (): void => {
      for (;;) {
        const seen = Atomics.load(this.board.words, Pool.news);
        if (this.#stopping || !this.#events.news()) {
          this.#watching = false;
          return;
        }
        const change = Atomics.waitAsync(this.board.words, Pool.news, seen);
        if (change.async) {
          void change.value.then(look);
          return;
        }
      }
    };
    look();
  }

  /** A promise of the watch does not keep the process alive; a referenced worker does. One is enough. */
  keepAlive(needed: boolean): void {
    if (this.#alive === needed) return;
    this.#alive = needed;
    const worker = this.#workers[0];
    if (needed) worker?.ref();
    else worker?.unref();
  }

  /** Ends the workers, whatever they are doing, and waits for them. `force`: one that died may have left the lock held. */
  async stop(force = false): Promise<void> {
    if (!this.#stopping) {
      this.#stopping = true;
      halt(this.board);
      for (const worker of this.#workers) worker.ref();
    }
    const terminate = (): void => {
      for (const worker of this.#workers) void worker.terminate();
    };
    if (force) terminate();
    const late = setTimeout(terminate, JOIN_MS);
    await Promise.all(this.#ended);
    clearTimeout(late);
    boards.delete(this.board);
  }
}

/** Cancels every launch, sends the workers home and ends the watch. */
function halt({ words }: Board): void {
  Atomics.store(words, Pool.stop, 1);
  for (let stream = 0; stream < STREAMS; stream++) Atomics.add(words, lineWord(stream) + Line.epoch, 1);
  for (const word of [Pool.work, Pool.news]) {
    Atomics.add(words, word, 1);
    Atomics.notify(words, word);
  }
}

/** process.exit waits for native calls to return: make that soon, also where an item is unexpectedly slow. */
const boards = new Set<Board>();
process.on('exit', () => {
  for (const board of boards) halt(board);
});

/** Workers are started from compiled code: under vitest this module is TypeScript, and its twin lies in dist. */
function workerFile(here: string): string {
  const file = fileURLToPath(new URL(here.endsWith('.ts') ? './worker.ts' : './worker.js', here));
  if (!file.endsWith('.ts')) return file;
  const at = file.lastIndexOf('/src/');
  return `${file.slice(0, at)}/dist/${file.slice(at + '/src/'.length, -'.ts'.length)}.js`;
}
