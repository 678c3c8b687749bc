import { availableParallelism } from 'node:os';
import { startThread, type Thread, workerBeside } from '../../pool/threads/threads.js';
import { dismiss, newCrew } from './crew.js';

/** Transfers of plain memory from this size on are worth threads: to start one takes 30 ms. */
const LARGE_BYTES = 2 ** 20;

/** A third of the machine, and no more than six threads, the owner's included: then the bus is the limit. */
const helpersHere = (): number => Math.max(1, Math.min(5, Math.floor(availableParallelism() / 3)));

/** The main thread's end: starts helpers when there is something to copy, once. */
export class CrewThreads {
  readonly memory = newCrew();
  readonly #helpers: number;
  #threads: Thread[] = [];
  #begun = false;

  constructor(helpers = helpersHere()) {
    this.#helpers = helpers;
  }

  /** So many bytes of plain memory are about to be copied. */
  expect(bytes: number): void {
    if (this.#begun || bytes < LARGE_BYTES) return;
    this.#begun = true;
    const file = workerBeside(import.meta.url, 'crew-worker.js');
    for (let at = 0; at < this.#helpers; at++) {
      // Where one cannot start the others do its part.
      const start = { file, name: 'millrace copies', data: this.memory, isKept: true, died: () => undefined };
      const thread = startThread(start);
      thread.ready.catch(() => undefined);
      thread.keepAlive(false);
      this.#threads.push(thread);
    }
  }

  /** After the owner has ended. */
  async stop(): Promise<void> {
    this.#begun = true;
    dismiss(this.memory);
    const threads = this.#threads;
    this.#threads = [];
    for (const thread of threads) thread.keepAlive(true);
    await Promise.all(threads.map(({ ended }) => ended));
  }
}
