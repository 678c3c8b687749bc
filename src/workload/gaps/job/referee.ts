import { availableParallelism } from 'node:os';
import { startThread, type Thread, workerBeside } from '../../../device/pool/threads/threads.js';
import { MillraceError } from '../../../kernel/error.js';
import type { rulings } from './rulings.js';

type Rulings = typeof rulings;
type Asked = keyof Rulings;

/** A request to a worker thread, and its reply. */
export interface Request {
  readonly id: number;
  readonly name: Asked;
  readonly args: readonly unknown[];
}
export type Reply = { readonly id: number } & ({ readonly ruling: unknown } | { readonly failed: string });

/**
 * Checks the devices' finds in worker threads: a gap takes tens of milliseconds, and the thread that feeds the devices
 * must not wait for it. A thread is started with the first request that finds all others busy.
 */
export class Referee {
  readonly #most: number;
  readonly #seats: Seat[] = [];
  #next = 0;

  constructor(threads = Math.max(1, Math.min(MOST_THREADS, availableParallelism() >> 2))) {
    this.#most = threads;
  }

  /** Rejects if the request failed, or the referee is closed. */
  ask<Name extends Asked>(name: Name, ...args: Parameters<Rulings[Name]>): Promise<ReturnType<Rulings[Name]>> {
    const id = this.#next++;
    return this.#seat().ask({ id, name, args }) as Promise<ReturnType<Rulings[Name]>>;
  }

  close(): void {
    for (const seat of this.#seats) seat.close();
  }

  #seat(): Seat {
    const [best] = [...this.#seats].sort((a, b) => a.waiting - b.waiting);
    if (best && (best.waiting === 0 || this.#seats.length >= this.#most)) return best;
    const seat = new Seat();
    this.#seats.push(seat);
    return seat;
  }
}

/** Two gaps of 300 bits in each thread take as long as an H200 takes for 10^9 integers. */
const MOST_THREADS = 4;

interface Waiting {
  readonly resolve: (ruling: unknown) => void;
  readonly reject: (error: Error) => void;
}

class Seat {
  readonly #thread: Thread;
  readonly #waiting = new Map<number, Waiting>();
  #ended: MillraceError | undefined;

  constructor() {
    this.#thread = startThread({
      file: workerBeside(import.meta.url, 'referee-thread.js'),
      name: 'millrace gaps',
      data: undefined,
      died: (cause) => this.#end(cause),
      heard: (reply) => this.#heard(reply as Reply),
    });
    this.#thread.ready.catch((cause) => this.#end(cause));
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  ask(request: Request): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    this.#thread.keepAlive(true);
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
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

  #heard(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#thread.keepAlive(false);
    if ('ruling' in reply) waiting?.resolve(reply.ruling);
    else waiting?.reject(failed(reply.failed));
  }

  #end(cause: unknown): void {
    this.#ended ??= failed(cause);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

function failed(cause: unknown): MillraceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new MillraceError({
    code: 'verify-failed',
    message: `a gap could not be checked: ${why.split('\n')[0]}`,
    advice: 'nothing is known against the device; what the thread said is the cause',
    cause,
  });
}
