import { availableThreads } from '../../../device/pool/threads/available-threads.js';
import { startThread, type Thread, workerUrl } from '../../../device/pool/threads/threads.js';
import { MillraceError } from '../../../kernel/error.js';
import type { verifierTasks } from './verifier-tasks.js';

type VerifierTasks = typeof verifierTasks;
type TaskName = keyof VerifierTasks;

/** A request to a worker thread, and its reply. */
export interface TaskRequest {
  readonly id: number;
  readonly name: TaskName;
  readonly args: readonly unknown[];
}
export type TaskReply = { readonly id: number } & ({ readonly result: unknown } | { readonly error: string });

/**
 * Checks the devices' gaps in worker threads: a gap takes tens of milliseconds, and the thread that feeds the devices must
 * not wait for it. A thread is started with the first request that finds all others busy.
 */
export class GapVerifier {
  readonly #maxThreads: number;
  readonly #threads: VerifierThread[] = [];
  #next = 0;

  constructor(threads = Math.max(1, Math.min(MAX_THREADS, availableThreads() >> 2))) {
    this.#maxThreads = threads;
  }

  /** Rejects if the request failed, or the verifier is closed. */
  call<Name extends TaskName>(
    name: Name,
    ...args: Parameters<VerifierTasks[Name]>
  ): Promise<ReturnType<VerifierTasks[Name]>> {
    const id = this.#next++;
    return this.#pickThread().call({ id, name, args }) as Promise<ReturnType<VerifierTasks[Name]>>;
  }

  close(): void {
    for (const thread of this.#threads) thread.close();
  }

  #pickThread(): VerifierThread {
    const [best] = [...this.#threads].sort((a, b) => a.pendingCount - b.pendingCount);
    if (best && (best.pendingCount === 0 || this.#threads.length >= this.#maxThreads)) return best;
    const thread = new VerifierThread();
    this.#threads.push(thread);
    return thread;
  }
}

/** Two gaps of 300 bits in each thread take as long as an H200 takes for 10^9 integers. */
const MAX_THREADS = 4;

interface PendingReply {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

class VerifierThread {
  readonly #thread: Thread;
  readonly #pending = new Map<number, PendingReply>();
  #endError: MillraceError | undefined;

  constructor() {
    this.#thread = startThread({
      file: workerUrl(import.meta.url, 'verifier-thread.js'),
      name: 'millrace gaps',
      data: undefined,
      died: (cause) => this.#end(cause),
      onMessage: (reply) => this.#onReply(reply as TaskReply),
    });
    this.#thread.ready.catch((cause) => this.#end(cause));
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  call(request: TaskRequest): Promise<unknown> {
    if (this.#endError) return Promise.reject(this.#endError);
    this.#thread.keepAlive(true);
    return new Promise((resolve, reject) => {
      this.#pending.set(request.id, { resolve, reject });
      this.#thread.ready.then(
        () => this.#thread.post(request),
        () => undefined, // `#end` rejects it
      );
    });
  }

  close(): void {
    this.#end('the search is over');
    this.#thread.terminate();
  }

  #onReply(reply: TaskReply): void {
    const waiting = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#thread.keepAlive(false);
    if ('result' in reply) waiting?.resolve(reply.result);
    else waiting?.reject(verifyError(reply.error));
  }

  #end(cause: unknown): void {
    this.#endError ??= verifyError(cause);
    for (const { reject } of this.#pending.values()) reject(this.#endError);
    this.#pending.clear();
  }
}

function verifyError(cause: unknown): MillraceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new MillraceError({
    code: 'verify-failed',
    message: `a gap could not be checked: ${why.split('\n')[0]}`,
    advice: 'the error is in the verifier thread, not on the device',
    cause,
  });
}
