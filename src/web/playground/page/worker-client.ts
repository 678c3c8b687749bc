import type { CodeFault, WorkerReply, WorkerRequest } from '../messages.js';

type Part = Extract<WorkerReply, { part: unknown }>['part'];

/** An error that the worker has reported. */
export class WorkerFault extends Error {
  readonly fault: CodeFault;

  constructor(fault: CodeFault) {
    super(fault.message);
    this.name = 'WorkerFault';
    this.fault = fault;
  }
}

/** The page's side of a worker. It is started with the first request; a request in flight can be ended with its worker. */
export class WorkerClient {
  readonly #file: URL;
  readonly #name: string;
  #worker: Worker | undefined;
  #id = 0;
  readonly #open = new Map<number, { part(part: Part): void; done(done: unknown): void; fail(error: Error): void }>();

  constructor(file: URL, name: string) {
    this.#file = file;
    this.#name = name;
  }

  get isBusy(): boolean {
    return this.#open.size > 0;
  }

  ask<T>(request: WorkerRequest, onPart: (part: Part) => void = () => undefined): Promise<T> {
    const id = ++this.#id;
    const worker = this.#started();
    return new Promise<T>((resolve, reject) => {
      this.#open.set(id, { part: onPart, done: (done) => resolve(done as T), fail: reject });
      worker.postMessage({ id, ...request });
    });
  }

  /** Ends the worker and whatever it does. The next request starts another. */
  end(reason: string): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const { fail } of this.#open.values()) fail(new Error(reason));
    this.#open.clear();
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(this.#file, { type: 'module', name: this.#name });
    worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => this.#heard(data);
    worker.onerror = ({ message }) => this.end(message || 'the worker cannot be loaded');
    this.#worker = worker;
    return worker;
  }

  #heard(reply: WorkerReply): void {
    const open = this.#open.get(reply.id);
    if (!open) return;
    if (!('part' in reply)) this.#open.delete(reply.id);
    if ('part' in reply) open.part(reply.part);
    else if ('done' in reply) open.done(reply.done);
    else open.fail(new WorkerFault(reply.fault));
  }
}
