import { arrive, depart, newStay, waitForThreads } from './stay.js';

/**
 * Threads of JavaScript, where they differ between Node and browsers. Node's modules are asked for by name at run time,
 * so that this file can stand in a page.
 */
export interface Thread {
  /** Resolves when the thread has started; rejects where it cannot. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, in whatever way. */
  readonly ended: Promise<void>;
  /** Whether the process stays alive for this thread's sake. */
  keepAlive(needed: boolean): void;
  terminate(): void;
  post(message: unknown): void;
}

export interface ThreadStart {
  readonly file: URL;
  readonly name: string;
  /** Handed to the thread: shared memory and plain data. */
  readonly data: unknown;
  /** It ended by itself, by an error or otherwise. */
  died(cause: unknown): void;
  /** What it posted. */
  heard?(message: unknown): void;
}

/** The other end, inside the thread. */
export interface ThreadPort {
  post(message: unknown): void;
  /** The next message that has come, without a turn of the event loop: Node only. */
  take?(): { readonly message: unknown } | undefined;
  /** Hears every message from now on, and keeps the thread from ending. */
  listen(heard: (message: unknown) => void): void;
}

export function startThread(start: ThreadStart): Thread {
  const threads = process_()?.getBuiltinModule?.('node:worker_threads');
  return threads ? startInNode(threads, start) : startInPage(start);
}

/** Runs an action when the process, or this thread, ends; pages have no such moment. */
export function atExit(action: () => void): void {
  actions.push(action);
}

const actions: (() => void)[] = [];

/** Inside a thread: runs its work with what it was given, then ends the thread. */
export function inThread<T>(work: (data: T, ready: () => void, port: ThreadPort) => void | Promise<void>): void {
  const threads = process_()?.getBuiltinModule?.('node:worker_threads');
  if (threads) {
    const port = nodePort(threads);
    const { data, stay } = threads.workerData as NodeStart<T>;
    atExit(depart);
    arrive(stay);
    // What work leaves behind (a runtime's handles) may keep an event loop turning for ever.
    void work(data, () => port.post('ready'), port)?.then(() => process_()?.exit());
    return;
  }
  const self = globalThis as unknown as PageThreadScope;
  const port: ThreadPort = {
    post: (message) => self.postMessage(message),
    listen: (heard) => {
      self.onmessage = ({ data }) => heard(data);
    },
  };
  self.onmessage = async ({ data }) => {
    await work(data as T, () => self.postMessage('ready'), port);
    self.postMessage('ended');
    self.close();
  };
}

function nodePort({ parentPort, receiveMessageOnPort }: typeof import('node:worker_threads')): ThreadPort {
  if (!parentPort) throw new TypeError('this is the main thread');
  return {
    post: (message) => parentPort.postMessage(message),
    take: () => receiveMessageOnPort(parentPort) as { message: unknown } | undefined,
    listen: (heard) => void parentPort.on('message', heard),
  };
}

/**
 * The file `worker.js`, or another, beside a module. Workers are started from compiled code: under vitest the module is
 * TypeScript, and its twin lies in dist.
 */
export function workerBeside(module: string, name = 'worker.js'): URL {
  const file = new URL(`./${name}`, module);
  if (!module.endsWith('.ts')) return file;
  const at = file.href.lastIndexOf('/src/');
  return new URL(`${file.href.slice(0, at)}/dist/${file.href.slice(at + '/src/'.length)}`);
}

/** What a worker of Node's is given. */
interface NodeStart<T> {
  readonly data: T;
  readonly stay: SharedArrayBuffer;
}

function startInNode(threads: typeof import('node:worker_threads'), start: ThreadStart): Thread {
  const stay = newStay();
  const workerData: NodeStart<unknown> = { data: start.data, stay: stay.memory };
  const worker = new threads.Worker(start.file, {
    workerData,
    name: start.name,
    env: threads.SHARE_ENV,
    execArgv: [], // flags that this process was started with (loaders, inspectors) are not for the workers
  });
  const ready = new Promise<void>((resolve, reject) => {
    const died = (cause: unknown): void => {
      reject(cause);
      start.died(cause);
    };
    worker.on('message', (message) => (message === 'ready' ? resolve() : start.heard?.(message)));
    worker.once('error', died);
    worker.once('exit', (code) => {
      stay.over();
      died(new Error(`a worker thread ended with code ${code}`));
    });
  });
  return {
    ready,
    ended: new Promise((resolve) => worker.once('exit', () => resolve())),
    keepAlive: (needed) => (needed ? worker.ref() : worker.unref()),
    terminate: () => void worker.terminate(),
    post: (message) => worker.postMessage(message),
  };
}

function startInPage(start: ThreadStart): Thread {
  const { Worker } = globalThis as unknown as { Worker: new (file: URL, options: object) => PageThread };
  const worker = new Worker(start.file, { type: 'module', name: start.name });
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const ready = new Promise<void>((resolve, reject) => {
    worker.onmessage = ({ data }) => {
      if (data === 'ended') end();
      else if (data === 'ready') resolve();
      else start.heard?.(data);
    };
    worker.onerror = (event) => {
      const cause = new Error(event.message ?? `the worker ${start.file.href} cannot be loaded`);
      end();
      reject(cause);
      start.died(cause);
    };
  });
  worker.postMessage(start.data);
  return {
    ready,
    ended,
    keepAlive: () => undefined, // a page lives by itself
    terminate: () => {
      worker.terminate();
      end();
    },
    post: (message) => worker.postMessage(message),
  };
}

interface PageThread {
  onmessage: (event: { data: unknown }) => void;
  onerror: (event: { message?: string }) => void;
  postMessage(data: unknown): void;
  terminate(): void;
}

interface PageThreadScope {
  onmessage: (event: { data: unknown }) => void;
  postMessage(data: unknown): void;
  close(): void;
}

/** Node's `process`, where there is one. */
const process_ = (): NodeJS.Process | undefined => (globalThis as { process?: NodeJS.Process }).process;

process_()?.on('exit', () => {
  for (const action of actions) action();
  waitForThreads(); // which have all been told to come to their end
});
