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
}

export interface ThreadStart {
  readonly file: URL;
  readonly name: string;
  /** Handed to the thread: shared memory and plain data. */
  readonly data: unknown;
  /** It ended by itself, by an error or otherwise. */
  died(cause: unknown): void;
}

export function startThread(start: ThreadStart): Thread {
  const threads = process_()?.getBuiltinModule?.('node:worker_threads');
  return threads ? startInNode(threads, start) : startInPage(start);
}

/** Runs an action when the process ends; pages have no such moment. */
export function atExit(action: () => void): void {
  process_()?.on('exit', action);
}

/** Inside a thread: runs its work with what it was given, then lets the thread end. */
export function inThread<T>(work: (data: T, ready: () => void) => void): void {
  const threads = process_()?.getBuiltinModule?.('node:worker_threads');
  if (threads) {
    work(threads.workerData as T, () => threads.parentPort?.postMessage('ready'));
    return;
  }
  const self = globalThis as unknown as PageThreadScope;
  self.onmessage = ({ data }) => {
    work(data as T, () => self.postMessage('ready'));
    self.postMessage('ended');
    self.close();
  };
}

/**
 * The file `worker.js` beside a module. Workers are started from compiled code: under vitest the module is TypeScript,
 * and its twin lies in dist.
 */
export function workerBeside(module: string): URL {
  const file = new URL('./worker.js', module);
  if (!module.endsWith('.ts')) return file;
  const at = file.href.lastIndexOf('/src/');
  return new URL(`${file.href.slice(0, at)}/dist/${file.href.slice(at + '/src/'.length)}`);
}

function startInNode(threads: typeof import('node:worker_threads'), start: ThreadStart): Thread {
  const worker = new threads.Worker(start.file, {
    workerData: start.data,
    name: start.name,
    env: threads.SHARE_ENV,
    execArgv: [], // flags that this process was started with (loaders, inspectors) are not for the workers
  });
  const ready = new Promise<void>((resolve, reject) => {
    const died = (cause: unknown): void => {
      reject(cause);
      start.died(cause);
    };
    worker.once('message', () => resolve());
    worker.once('error', died);
    worker.once('exit', (code) => died(new Error(`a worker thread ended with code ${code}`)));
  });
  return {
    ready,
    ended: new Promise((resolve) => worker.once('exit', () => resolve())),
    keepAlive: (needed) => (needed ? worker.ref() : worker.unref()),
    terminate: () => void worker.terminate(),
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
    worker.onmessage = ({ data }) => (data === 'ended' ? end() : resolve());
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
