import { availableParallelism } from 'node:os';
import { startThread, type Thread, workerBeside } from '../../pool/threads/threads.js';
import { dismiss, newCrew } from './crew.js';

/** Transfers of pageable memory use threads from this size on: starting one takes 30 ms. */
const LARGE_BYTES = 2 ** 20;

/** A third of the machine's threads, and no more than six including the owner: at that point the bus is the limit. */
const helpersHere = (): number => Math.max(1, Math.min(5, Math.floor(availableParallelism() / 3)));

/** The main thread's side: starts the helpers once, at the first large copy. */
export class CrewThreads {
  readonly memory = newCrew();
  readonly #helpers: number;
  #threads: Thread[] = [];
  #begun = false;

  constructor(helpers = helpersHere()) {
    this.#helpers = helpers;
  }

  /** Called when `bytes` bytes of pageable memory are about to be copied. */
  expect(bytes: number): void {
    if (this.#begun || bytes < LARGE_BYTES) return;
    this.#begun = true;
    const file = workerBeside(import.meta.url, 'crew-worker.js');
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
    this.#begun = true;
    dismiss(this.memory);
    const threads = this.#threads;
    this.#threads = [];
    for (const thread of threads) thread.keepAlive(true);
    await Promise.all(threads.map(({ ended }) => ended));
  }
}
