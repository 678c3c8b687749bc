import { availableParallelism } from 'node:os';
import { startThread, type Thread, workerUrl } from '../../pool/threads/threads.js';
import { newCopyMemory, stopHelpers } from './parallel-copier.js';

/** Transfers of pageable memory use threads from this size on: starting one takes 30 ms. */
const LARGE_BYTES = 2 ** 20;

/** A third of the machine's threads, and no more than six including the owner: at that point the bus is the limit. */
const defaultHelpers = (): number => Math.max(1, Math.min(5, Math.floor(availableParallelism() / 3)));

/** The main thread's side: starts the helpers once, at the first large copy. */
export class CopyThreads {
  readonly memory = newCopyMemory();
  readonly #helpers: number;
  #threads: Thread[] = [];
  #isStarted = false;

  constructor(helpers = defaultHelpers()) {
    this.#helpers = helpers;
  }

  /** Called when `bytes` bytes of pageable memory are about to be copied. */
  expectCopy(bytes: number): void {
    if (this.#isStarted || bytes < LARGE_BYTES) return;
    this.#isStarted = true;
    const file = workerUrl(import.meta.url, 'copy-worker.js');
    for (let at = 0; at < this.#helpers; at++) {
      // If one cannot start, the others do its part.
      const start = { file, name: 'millrace copies', data: this.memory, isKept: true, died: () => undefined };
      const thread = startThread(start);
      thread.ready.catch(() => undefined);
      thread.keepAlive(false);
      this.#threads.push(thread);
    }
  }

  /** Called after the owner has ended. */
  async stop(): Promise<void> {
    this.#isStarted = true;
    stopHelpers(this.memory);
    const threads = this.#threads;
    this.#threads = [];
    for (const thread of threads) thread.keepAlive(true);
    await Promise.all(threads.map(({ ended }) => ended));
  }
}
