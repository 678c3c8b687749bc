import { MillraceError } from '../../kernel/error.js';
import { withTimeout } from '../timeout.js';
import { MAX_STREAMS, type PoolBoard, PoolWord, StreamWord, streamWordOffset } from './board.js';
import { WordWatcher } from './schedule/watch.js';
import { atExit, startThread, type Thread } from './threads/threads.js';

/** Events that the pool reports to its owner, on the main thread. */
export interface PoolEvents {
  /** The board has changed. Returns true if there is more to wait for. */
  boardChanged(): boolean;
  /** A worker died. The pool is unusable. */
  workerDied(cause: unknown): void;
}

export interface PoolOptions {
  /** The device's id, for names and errors. */
  readonly device: string;
  readonly board: PoolBoard;
  readonly threads: number;
  /** The worker's module, and the data for worker number i. */
  readonly file: URL;
  data(i: number): unknown;
}

/** How long a worker may take to end normally; a slice takes about 2 ms. */
const JOIN_MS = 2000;
/**
 * The same after a worker has died, which may hold the lock that the others wait for. Others may be dying of the same error:
 * Node 20 aborts the process if a thread is terminated while it reports one.
 */
const DEATH_MS = 100;
/** How long `stop` waits in all. A thread in native code cannot be terminated: a kernel may have a loop without end. */
const ABANDON_MS = 10_000;

/** The main thread's side of the worker threads: created once, joined at close. */
export class WorkerPool {
  readonly board: PoolBoard;
  readonly #options: PoolOptions;
  readonly #events: PoolEvents;
  readonly #workers: Thread[] = [];
  readonly #watch: WordWatcher;
  #keepsAlive = false;
  #isStopping = false;

  constructor(options: PoolOptions, events: PoolEvents) {
    this.board = options.board;
    this.#options = options;
    this.#events = events;
    this.#watch = new WordWatcher(
      this.board.words,
      PoolWord.mainSignal,
      () => !this.#isStopping && events.boardChanged(),
    );
  }

  /** Starts the workers. Resolves when all of them are running (about 40 ms). */
  async start(): Promise<void> {
    const { device, threads, file } = this.#options;
    openBoards.add(this.board);
    for (let i = 0; i < threads; i++) {
      const died = (cause: unknown): void => {
        if (!this.#isStopping) this.#events.workerDied(cause);
      };
      const data = this.#options.data(i);
      this.#workers.push(startThread({ file, name: `millrace ${device}`, data, died }));
    }
    try {
      await Promise.all(this.#workers.map((worker) => worker.ready));
    } catch (cause) {
      await this.stop();
      throw new MillraceError({
        code: 'device-failed',
        message: `a worker thread of device ${device} could not start`,
        asked: `${threads} worker threads`,
        advice: 'see the cause of this error; fewer threads may help',
        cause,
      });
    }
    for (const worker of this.#workers) worker.keepAlive(false);
  }

  /** Wakes a worker: there is a new command on a queue that was empty. */
  wakeWorker(): void {
    const { words } = this.board;
    Atomics.add(words, PoolWord.workSignal, 1);
    if (Atomics.load(words, PoolWord.sleepers) > 0) Atomics.notify(words, PoolWord.workSignal, 1);
  }

  /** Watches `mainSignal` until `boardChanged()` returns false. */
  watch(): void {
    this.#watch.start();
  }

  /** Makes the watch check again without a notification from a worker. */
  checkAgain(): void {
    this.#watch.recheck();
  }

  /** The watch's promise does not keep the process alive; a referenced worker does. One is enough. */
  keepAlive(needed: boolean): void {
    if (this.#keepsAlive === needed) return;
    this.#keepsAlive = needed;
    this.#workers[0]?.keepAlive(needed);
  }

  /**
   * Ends the workers and waits for them. `force`: a worker that died may still hold the lock. False if a worker has not
   * ended after `ABANDON_MS` and may still use the device's memory.
   */
  async stop(force = false): Promise<boolean> {
    if (!this.#isStopping) {
      this.#isStopping = true;
      haltWorkers(this.board);
      for (const worker of this.#workers) worker.keepAlive(true);
    }
    const terminate = (): void => {
      for (const worker of this.#workers) worker.terminate();
    };
    const late = setTimeout(terminate, force ? DEATH_MS : JOIN_MS);
    const ended = Promise.all(this.#workers.map((worker) => worker.ended)).then(() => true);
    const isEnded = await withTimeout(ended, ABANDON_MS, () => false);
    clearTimeout(late);
    if (isEnded) openBoards.delete(this.board);
    else for (const worker of this.#workers) worker.keepAlive(false);
    return isEnded;
  }
}

/** Cancels every launch, stops the workers and ends the watch. */
function haltWorkers({ words }: PoolBoard): void {
  Atomics.store(words, PoolWord.stop, 1);
  for (let stream = 0; stream < MAX_STREAMS; stream++)
    Atomics.add(words, streamWordOffset(stream) + StreamWord.epoch, 1);
  for (const word of [PoolWord.workSignal, PoolWord.mainSignal]) {
    Atomics.add(words, word, 1);
    Atomics.notify(words, word);
  }
}

/** process.exit waits for native calls to return. Cancelling makes that quick, even if an item is unexpectedly slow. */
const openBoards = new Set<PoolBoard>();
atExit(() => {
  for (const board of openBoards) haltWorkers(board);
});
