import { startThread, type Thread, workerUrl } from '../../device/pool/threads/threads.js';
import { errorOf, type LedgerMethod, type LedgerReply } from '../messages.js';
import type { Ledger } from '../thread/ledger.js';

/** The main thread's proxy of the ledger: each method returns a promise. */
export class LedgerThread {
  readonly #thread: Thread;
  readonly #pendingCalls = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #calls = 0;
  #fault: unknown;

  /** `warn` receives notices about the file. */
  constructor(directory: string, warn: (notice: string) => void) {
    this.#thread = startThread({
      file: workerUrl(import.meta.url, '../thread/worker.js'),
      name: 'millrace ledger',
      data: { directory },
      died: (cause) => this.#onThreadDied(cause),
      onMessage: (message) => {
        const reply = message as LedgerReply;
        for (const notice of reply.notices) warn(notice);
        this.#onReply(reply);
      },
    });
    this.#thread.ready.catch(() => undefined); // reported to the caller of a method
    this.#thread.keepAlive(false);
  }

  call<M extends LedgerMethod>(method: M, ...args: Parameters<Ledger[M]>): Promise<ReturnType<Ledger[M]>> {
    if (this.#fault !== undefined) return Promise.reject(this.#fault);
    return new Promise((resolve, reject) => {
      const number = this.#calls++;
      this.#pendingCalls.set(number, { resolve: resolve as (value: unknown) => void, reject });
      // The process stays alive until pending writes are on disk.
      this.#thread.keepAlive(true);
      this.#thread.post({ number, method, args });
    });
  }

  async close(): Promise<void> {
    const closed = this.call('close');
    this.#fault = new Error('the ledger has been closed');
    try {
      await closed;
    } finally {
      this.#thread.keepAlive(true);
      await this.#thread.ended;
    }
  }

  #onReply(reply: LedgerReply): void {
    const waiting = this.#pendingCalls.get(reply.number);
    this.#pendingCalls.delete(reply.number);
    if (this.#pendingCalls.size === 0) this.#thread.keepAlive(false);
    if ('fault' in reply) waiting?.reject(errorOf(reply.fault));
    else waiting?.resolve(reply.value);
  }

  #onThreadDied(cause: unknown): void {
    this.#fault ??= cause;
    for (const { reject } of this.#pendingCalls.values()) reject(cause);
    this.#pendingCalls.clear();
  }
}
