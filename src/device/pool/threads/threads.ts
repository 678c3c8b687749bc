import { deferred } from '../../deferred.js';
import { hasSharedMemory } from '../../host-memory.js';
import { collectGarbage } from './collect.js';
import { newExitHold, threadEnded, threadStarted, waitForThreads } from './hold-exit.js';

/**
 * JavaScript threads, in Node and in browsers. Node's modules are loaded by name at run time, so that this file also
 * works in a page.
 */
export interface Thread {
  /** Resolves when the thread has started; rejects if it cannot start. */
  readonly ready: Promise<void>;
  /** Resolves when its work has ended, for any reason: true if the thread waits to be reused. */
  readonly ended: Promise<boolean>;
  /** Sets whether this thread keeps the process alive. */
  keepAlive(needed: boolean): void;
  terminate(): void;
  post(message: unknown): void;
}

export interface ThreadStart {
  readonly file: URL;
  readonly name: string;
  /** Passed to the thread: shared memory and plain data. */
  readonly data: unknown;
  /**
   * Keeps the thread after its work has ended and reuses it for the next start of the same file and name (Node). For
   * threads that load koffi, which maps some MiB for each thread and never unmaps them.
   */
  readonly isKept?: boolean;
  /**
   * Loads the work of `file`, to run in this thread in a page without shared memory; undefined if it needs threads. Data
   * and messages are then passed as they are, not as copies.
   */
  readonly here?: (() => Promise<ThreadWork<never>>) | undefined;
  /** The thread ended by itself, with an error or without. */
  died(cause: unknown): void;
  /** Called with each message that the thread posts. */
  onMessage?(message: unknown): void;
}

/** The thread's own end of the channel. */
export interface ThreadPort {
  post(message: unknown): void;
  /** Takes the next message that has arrived, without a turn of the event loop: Node only. */
  receive?(): { readonly message: unknown } | undefined;
  /** Calls `heard` for every message from now on, and keeps the thread alive. */
  listen(heard: (message: unknown) => void): void;
}

/** What a thread does with the data it was given. It calls `ready` when it has started. */
export type ThreadWork<T> = (data: T, ready: () => void, port: ThreadPort) => void | Promise<void>;

export function startThread(start: ThreadStart): Thread {
  const threads = nodeProcess()?.getBuiltinModule?.('node:worker_threads');
  if (threads) return startInNode(threads, start);
  return start.here && !hasSharedMemory() ? startHere(start.here, start) : startInPage(start);
}

/** Runs an action when the process, or this thread, ends. Pages never call it. */
export function atExit(action: () => void): void {
  exitActions.push(action);
}

const exitActions: (() => void)[] = [];

/** Inside a thread: runs its work with the data it was given, then ends the thread. */
export function runInThread<T>(work: ThreadWork<T>): void {
  const threads = nodeProcess()?.getBuiltinModule?.('node:worker_threads');
  if (threads) {
    const port = nodePort(threads);
    const begin = ({ data, stay, isKept }: NodeStart<T>): void => {
      threadStarted(stay);
      const working = work(data, () => port.post('ready'), port);
      // Handles of a runtime that the work leaves behind could keep the event loop running for ever.
      if (working) void working.then(() => nodeProcess()?.exit());
      else if (isKept) becomeIdle(port);
    };
    atExit(threadEnded);
    const first = threads.workerData as NodeStart<T>;
    begin(first);
    // From here on the event loop runs. The first messages may be for the work that has ended.
    if (first.isKept) port.listen((message) => isStart<T>(message) && begin(message));
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

/** Makes the thread idle until its next start. Collects its garbage, which includes shared memory (the board). */
function becomeIdle(port: ThreadPort): void {
  threadEnded();
  collectGarbage();
  port.post(IDLE);
}

const IDLE = 'rests';

const isStart = <T>(message: unknown): message is NodeStart<T> =>
  typeof message === 'object' && message !== null && 'stay' in message && 'isKept' in message;

function nodePort({ parentPort, receiveMessageOnPort }: typeof import('node:worker_threads')): ThreadPort {
  if (!parentPort) throw new TypeError('this is the main thread');
  return {
    post: (message) => parentPort.postMessage(message),
    receive: () => receiveMessageOnPort(parentPort) as { message: unknown } | undefined,
    listen: (heard) => void parentPort.on('message', heard),
  };
}

/**
 * The URL of `worker.js`, or another file, beside a module. Workers are started from compiled code: under vitest the
 * module is TypeScript, and its compiled counterpart is in dist.
 */
export function workerUrl(module: string | undefined, name = 'worker.js'): URL {
  if (module === undefined) return new URL(`page:/${name}`); // bundled as a script, which has no URL
  const file = new URL(`./${name}`, module);
  if (!module.endsWith('.ts')) return file;
  const at = file.href.lastIndexOf('/src/');
  return new URL(`${file.href.slice(0, at)}/dist/${file.href.slice(at + '/src/'.length)}`);
}

/** The data of a Node worker. */
interface NodeStart<T> {
  readonly data: T;
  readonly stay: SharedArrayBuffer;
  readonly isKept: boolean;
}

type NodeWorker = import('node:worker_threads').Worker;

/** Threads waiting to be reused, with the handler that is called when one exits. */
type IdleWorkers = Map<NodeWorker, () => void>;

/** Keyed by file and name. */
const idleWorkers = new Map<string, IdleWorkers>();

function startInNode(threads: typeof import('node:worker_threads'), start: ThreadStart): Thread {
  const { file, name, isKept = false } = start;
  const stay = newExitHold();
  const nodeStart: NodeStart<unknown> = { data: start.data, stay: stay.memory, isKept };
  const waiting = idleWorkersFor(file, name);
  const worker = reuseWorker(waiting, nodeStart) ?? newWorker(threads, start, nodeStart);
  /** True when the work has ended: an idle thread may already be in use by another owner. */
  let isOver = false;
  const { promise: ended, resolve: end } = deferred<boolean>();
  const ready = new Promise<void>((resolve, reject) => {
    const died = (cause: unknown): void => {
      reject(cause);
      start.died(cause);
    };
    /** Called when the thread has exited or is idle. After an error its exit is still to come. */
    const over = (cause: unknown, isIdle = false): void => {
      isOver = true;
      worker.off('message', hear).off('error', died).off('exit', exit);
      stay.end();
      end(isIdle);
      died(cause);
    };
    const exit = (code: number): void => over(new Error(`a worker thread ended with code ${code}`));
    const hear = (message: unknown): void => {
      if (message === 'ready') resolve();
      else if (message !== IDLE) start.onMessage?.(message);
      else {
        keepIdle(waiting, worker);
        over(workEnded(), true);
      }
    };
    worker.on('message', hear).on('error', died).on('exit', exit);
  });
  return {
    ready,
    ended,
    keepAlive: (needed) => {
      if (isOver) return;
      if (needed) worker.ref();
      else worker.unref();
    },
    terminate: () => void (isOver || worker.terminate()),
    post: (message) => void (isOver || worker.postMessage(message)),
  };
}

function newWorker(
  threads: typeof import('node:worker_threads'),
  { file, name }: ThreadStart,
  workerData: NodeStart<unknown>,
): NodeWorker {
  return new threads.Worker(joinedFile(file), {
    workerData,
    name,
    env: threads.SHARE_ENV,
    execArgv: [], // flags of this process (loaders, inspectors) are not for the workers
  });
}

/**
 * The file into which the build has joined the modules of a thread or process (scripts/bundle.mjs), which takes half as long
 * to load; the module itself if there is none. Coverage is counted by module.
 */
export function joinedFile(file: URL): URL {
  const known = joinedFiles.get(file.href);
  if (known) return known;
  const root = new URL('../../..', modulePlace).href;
  const joined = new URL(`threads/${file.href.slice(root.length)}`, root);
  const isJoined =
    file.href.startsWith(root) &&
    nodeProcess()?.env.NODE_V8_COVERAGE === undefined &&
    nodeProcess()?.getBuiltinModule('node:fs').existsSync(joined) === true;
  const used = isJoined ? joined : file;
  joinedFiles.set(file.href, used);
  return used;
}

const joinedFiles = new Map<string, URL>();
/** Bundlers would take a literal URL relative to `import.meta.url` for a file of the page. */
const modulePlace: string = import.meta.url;

function idleWorkersFor(file: URL, name: string): IdleWorkers {
  const key = `${file.href} ${name}`;
  const known: IdleWorkers = idleWorkers.get(key) ?? new Map();
  idleWorkers.set(key, known);
  return known;
}

function reuseWorker(waiting: IdleWorkers, start: NodeStart<unknown>): NodeWorker | undefined {
  const [found] = waiting;
  if (found === undefined) return undefined;
  const [worker, gone] = found;
  waiting.delete(worker);
  worker.off('exit', gone).off('error', gone);
  worker.ref();
  worker.postMessage(start);
  return worker;
}

/** Adds a worker to those waiting to be reused. It does not keep the process alive. */
function keepIdle(waiting: IdleWorkers, worker: NodeWorker): void {
  const gone = (): void => void waiting.delete(worker);
  waiting.set(worker, gone);
  worker.on('exit', gone).on('error', gone);
  worker.unref();
}

/** How a page starts its workers, by the name of their file. */
export interface PageWorkers {
  readonly [file: string]: (() => PageWorker) | undefined;
}

/** The part of the browser's `Worker` that is used here. */
export interface PageWorker {
  onmessage: ((event: { data: unknown }) => void) | null;
  onerror: ((event: { message?: string }) => void) | null;
  postMessage(data: unknown): void;
  terminate(): void;
}

let pageWorkers: PageWorkers = {};
let loadTexts: () => Promise<Readonly<Record<string, string>>> = async () => ({});

/**
 * For the entry of a page. Bundlers find workers only where they are made from a literal URL, so the entry makes them.
 * `texts` loads the text of each file, for pages that cannot load the file: esbuild does not bundle workers, and a page
 * may not start workers of another origin.
 */
export function definePageWorkers(workers: PageWorkers, texts: typeof loadTexts): void {
  pageWorkers = workers;
  loadTexts = texts;
}

/** Adds workers to those of the page's entry: they have files, but no texts. */
export function addPageWorkers(workers: PageWorkers): void {
  pageWorkers = { ...pageWorkers, ...workers };
}

function startInPage(start: ThreadStart): Thread {
  const file = start.file.href.slice(start.file.href.lastIndexOf('/') + 1);
  const { promise: ended, resolve: end } = deferred<boolean>();
  const { promise: ready, resolve, reject } = deferred<void>();
  /** What was posted before the worker answered, for another one in its place. */
  const posted: unknown[] = [start.data];
  let isHeard = false;
  let isOver = false;
  let worker: PageWorker | undefined;
  const over = (cause: unknown): void => {
    isOver = true;
    end(false);
    reject(cause);
    start.died(cause);
  };
  const use = (made: PageWorker, isFromText: boolean): void => {
    worker = made;
    made.onmessage = ({ data }) => {
      isHeard = true;
      if (data === 'ended') over(workEnded());
      else if (data === 'ready') resolve();
      else start.onMessage?.(data);
    };
    made.onerror = ({ message }) => {
      // Without a message the file could not be loaded.
      if (message !== undefined || isHeard || isFromText)
        over(new Error(message ?? `the worker ${file} cannot be loaded`));
      else void useText();
    };
    for (const message of posted) made.postMessage(message);
  };
  const useText = async (): Promise<void> => {
    worker = undefined;
    try {
      const made = workerOfText(await textOf(file));
      if (isOver) made.terminate();
      else use(made, true);
    } catch (cause) {
      over(cause);
    }
  };
  const first = textWorkers.has(file) ? undefined : madeFromFile(file);
  if (first) use(first, false);
  else void useText();
  return {
    ready,
    ended,
    keepAlive: () => undefined, // pages need no thread to stay alive
    terminate: () => {
      isOver = true;
      worker?.terminate();
      end(false);
    },
    post: (message) => {
      if (!isHeard) posted.push(message);
      worker?.postMessage(message);
    },
  };
}

/** Files that were not found: the next worker is made from the text at once. */
const textWorkers = new Map<string, Promise<string>>();

function textOf(file: string): Promise<string> {
  const known = textWorkers.get(file);
  if (known) return known;
  const loading = loadTexts().then(({ [file]: text }) => {
    if (text === undefined) throw new Error(`the worker ${file} cannot be loaded`);
    return text;
  });
  textWorkers.set(file, loading);
  return loading;
}

/** Undefined if the URL is not valid here, or belongs to another origin. */
function madeFromFile(file: string): PageWorker | undefined {
  try {
    return pageWorkers[file]?.();
  } catch {
    return undefined;
  }
}

function workerOfText(text: string): PageWorker {
  const { Worker, URL, Blob } = globalThis as unknown as {
    Worker: new (url: string, options: object) => PageWorker;
    URL: { createObjectURL(blob: object): string; revokeObjectURL(url: string): void };
    Blob: new (parts: string[], options: object) => object;
  };
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const worker = new Worker(url, { type: 'module' });
  setTimeout(() => URL.revokeObjectURL(url), TEXT_URL_MS);
  return worker;
}

/** A worker reads its text soon after it was made. */
const TEXT_URL_MS = 60_000;

/** Runs a thread's work in this thread. Messages arrive after the call that posts them, as they do between threads. */
function startHere(load: () => Promise<ThreadWork<never>>, start: ThreadStart): Thread {
  const { promise: ended, resolve: end } = deferred<boolean>();
  const { promise: ready, resolve, reject } = deferred<void>();
  const early: unknown[] = [];
  let hear = (message: unknown): void => void early.push(message);
  const port: ThreadPort = {
    post: (message) => queueMicrotask(() => start.onMessage?.(message)),
    listen: (heard) => {
      hear = heard;
      for (const message of early.splice(0)) heard(message);
    },
  };
  const over = (cause: unknown): void => {
    end(false);
    reject(cause);
    start.died(cause);
  };
  load()
    .then((work) => work(start.data as never, resolve, port))
    .then(() => over(workEnded()), over);
  return {
    ready,
    ended,
    keepAlive: () => undefined,
    terminate: () => end(false), // its work was asked to stop, and nothing waits for it any more
    post: (message) => queueMicrotask(() => hear(message)),
  };
}

const workEnded = (): Error => new Error('the work of a thread has ended');

interface PageThreadScope {
  onmessage: (event: { data: unknown }) => void;
  postMessage(data: unknown): void;
  close(): void;
}

/** Node's `process`, if there is one. */
const nodeProcess = (): NodeJS.Process | undefined => (globalThis as { process?: NodeJS.Process }).process;

nodeProcess()?.on('exit', () => {
  for (const action of exitActions) action();
  waitForThreads(); // all of which have been asked to stop
});
