import { firstLine, MillraceError } from '../../../kernel/error.js';
import { deferred } from '../../deferred.js';
import type { DeviceInfo } from '../../device.js';
import type { OpenOptions } from '../../kinds.js';
import { WordWatcher } from '../../pool/schedule/watch.js';
import { atExit, startThread, type Thread, type ThreadStart } from '../../pool/threads/threads.js';
import { type Board, LINES, newBoard, recycleBoard, stopWorker, Word, wakeWorker } from '../wire/board.js';
import {
  deserializeError,
  type RequestKind,
  type Requests,
  type WorkerMessage,
  type WorkerStart,
} from '../wire/messages.js';
import type { CopyThreads } from './copy-threads.js';

/** How a device's worker is started. */
export interface LinkOptions<Own> {
  /** The device's id, for names and errors. */
  readonly device: string;
  /** The worker's module (`workerBeside(import.meta.url)`), which calls `serve`. */
  readonly worker: URL;
  /** See `ThreadStart.here`. */
  readonly here?: ThreadStart['here'];
  /** Plain data for the driver. */
  readonly startData: Own;
  readonly options: OpenOptions;
  /** How long the worker may take to release its runtime before it is terminated. */
  readonly joinMs?: number;
  /** Helps the driver copy pageable host memory. */
  readonly copyThreads?: CopyThreads;
  /** See `ThreadStart.isKept`: for drivers that load koffi. */
  readonly isKept?: boolean;
}

/** Events that the link reports to its owner. */
export interface LinkEvents {
  /** The board has changed. Returns true if there is more to wait for. */
  boardChanged(): boolean;
  /** A mark's group failed. */
  markFailed(line: number, mark: number, error: Error): void;
  /** A resident grid has ended for good. */
  gridEnded(number: number, error: MillraceError): void;
  /** The worker has died, or its driver has failed. */
  failed(error: MillraceError): void;
}

/** How long a worker may take to release its runtime before it is terminated. */
const JOIN_MS = 10_000;
/** How long a terminated worker may take to end: it ends at once unless it is inside a call. */
const TERMINATE_MS = 500;

/** The default limit of open streams; at most half of the board's lines. */
const DEFAULT_STREAMS = 32;

/** Starts the worker and opens its driver. Rejects with the driver's error. */
export async function openLink<Own>(opening: LinkOptions<Own>): Promise<Link> {
  const { streams = DEFAULT_STREAMS } = opening.options;
  if (!Number.isInteger(streams) || streams < 1 || streams > LINES / 2) {
    throw new MillraceError({
      code: 'usage',
      message: `${streams} is not a valid number of streams`,
      asked: `streams ${streams}`,
      advice: `give a whole number from 1 to ${LINES / 2}`,
    });
  }
  const link = new Link(opening);
  await link.waitUntilOpen();
  return link;
}

/** The main thread's side of a device's worker. */
export class Link {
  readonly board: Board = newBoard();
  options: OpenOptions;
  readonly #device: string;
  readonly #joinMs: number;
  readonly #thread: Thread;
  readonly #watch: WordWatcher;
  readonly #copyThreads: CopyThreads | undefined;
  readonly #calls = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  #events: LinkEvents | undefined;
  #info: DeviceInfo | undefined;
  #openError: Error | undefined;
  #nextCall = 1;
  #isNeeded = false;
  #isKeptAlive = true;
  #isStopping = false;

  constructor({
    device,
    worker,
    here,
    startData,
    options,
    joinMs = JOIN_MS,
    copyThreads,
    isKept = false,
  }: LinkOptions<unknown>) {
    this.#device = device;
    this.#joinMs = joinMs;
    this.options = options;
    this.#copyThreads = copyThreads;
    const { completion = 'poll', telemetry = false } = options;
    const data: WorkerStart = {
      board: this.board.memory,
      completion,
      telemetry,
      copyMemory: copyThreads?.memory,
      startData,
    };
    boards.add(this.board);
    this.#thread = startThread({
      file: worker,
      here,
      name: `millrace ${device}`,
      data,
      isKept,
      onMessage: (message) => this.#receive(message as WorkerMessage),
      died: (cause) => this.#died(cause),
    });
    this.#watch = new WordWatcher(
      this.board.words,
      Word.news,
      () => !this.#isStopping && (this.#events?.boardChanged() ?? false),
    );
  }

  /** Resolves when the driver is open. */
  async waitUntilOpen(): Promise<void> {
    try {
      await this.#thread.ready;
      this.#keepAlive();
    } catch (cause) {
      await this.stop();
      if (this.#openError instanceof MillraceError) throw this.#openError;
      throw new MillraceError({
        code: 'device-failed',
        message: `the worker thread of device ${this.#device} could not start`,
        asked: `device ${this.#device}`,
        advice: 'see the cause of this error',
        cause: this.#openError ?? cause,
      });
    }
  }

  /** Sets options that concern only the main thread: for a worker that was started before they were known. */
  withOptions(options: OpenOptions): this {
    this.options = options;
    return this;
  }

  /** The most streams that may be open at a time. */
  get maxStreams(): number {
    return this.options.streams ?? DEFAULT_STREAMS;
  }

  get info(): DeviceInfo {
    if (!this.#info) throw new TypeError('the driver is not open');
    return this.#info;
  }

  attach(events: LinkEvents): void {
    this.#events = events;
  }

  /** Sends the worker a request that is not performance-critical. */
  call<K extends RequestKind>(kind: K, ask: Requests[K]['ask']): Promise<Requests[K]['answer']> {
    const call = this.#nextCall++;
    const answered = new Promise<unknown>((resolve, reject) => this.#calls.set(call, { resolve, reject }));
    this.#keepAlive();
    this.#thread.post({ kind, ask, call });
    Atomics.add(this.board.words, Word.messages, 1);
    wakeWorker(this.board.words);
    return answered as Promise<Requests[K]['answer']>;
  }

  /** Called when the driver is about to copy `bytes` bytes of pageable memory. */
  expectStaging(bytes: number): void {
    if (!this.#isStopping) this.#copyThreads?.expectCopy(bytes);
  }

  /** Starts watching the board. `needed`: keeps the process alive meanwhile. */
  watch(needed: boolean): void {
    if (needed) this.keepProcessAlive(true);
    this.#watch.start();
  }

  /** Makes the watch check again without a notification from the worker. */
  recheck(): void {
    if (!this.#isStopping) this.#watch.recheck();
  }

  /** The watch's promise does not keep the process alive; a referenced worker does. */
  keepProcessAlive(needed: boolean): void {
    this.#isNeeded = needed;
    this.#keepAlive();
  }

  /** Ends the worker and waits for it, but not for one that a call of its driver never leaves. Calls in flight reject. */
  async stop(error?: Error): Promise<void> {
    this.#isStopping = true;
    stopWorker(this.board);
    this.#rejectCalls(error ?? new Error('the worker has ended'));
    this.#thread.keepAlive(true);
    const isIdle = await this.#join();
    await this.#copyThreads?.stop();
    // If the thread has not ended, its runtime may still access the board.
    if (isIdle === undefined) return;
    if (boards.delete(this.board) && isIdle) recycleBoard(this.board);
  }

  /** Resolves to true if the thread waits to be reused, false if it has ended; undefined if it does not end. */
  async #join(): Promise<boolean | undefined> {
    const { promise: given, resolve: giveUp } = deferred<undefined>();
    let late = setTimeout(() => {
      this.#thread.terminate();
      late = setTimeout(() => {
        this.#thread.keepAlive(false);
        giveUp(undefined);
      }, TERMINATE_MS);
    }, this.#joinMs);
    const isIdle = await Promise.race([this.#thread.ended, given]);
    clearTimeout(late);
    return isIdle;
  }

  #rejectCalls(error: Error): void {
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }

  #receive(message: WorkerMessage): void {
    switch (message.kind) {
      case 'opened':
        this.#info = message.info;
        break;
      case 'refused':
        this.#openError = deserializeError(message.error);
        break;
      case 'answer':
        this.#takeCall(message.call)?.resolve(message.answer);
        break;
      case 'error':
        this.#takeCall(message.call)?.reject(deserializeError(message.error));
        break;
      case 'failed':
        if (!this.#isStopping) this.#events?.markFailed(message.line, message.mark, deserializeError(message.error));
        break;
      case 'gridOver': {
        const error = deserializeError(message.error);
        if (!this.#isStopping && error instanceof MillraceError) this.#events?.gridEnded(message.number, error);
        break;
      }
      case 'fatal':
        this.#failed(deserializeError(message.error));
        break;
      case 'log':
        this.options.log?.(message.line);
        break;
    }
  }

  #takeCall(call: number): { resolve(answer: unknown): void; reject(error: Error): void } | undefined {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    this.#keepAlive();
    return waiting;
  }

  #died(cause: unknown): void {
    this.#failed(cause instanceof Error ? cause : new Error(String(cause)));
  }

  #failed(cause: Error): void {
    if (this.#isStopping) return;
    const known = cause instanceof MillraceError && cause.code === 'device-failed';
    const error = known
      ? cause
      : new MillraceError({
          code: 'device-failed',
          message: `the worker thread of device ${this.#device} died: ${firstLine(cause)}`,
          asked: 'work in flight',
          advice:
            'open the device again; if it happens again, compile the kernels with `checked` to find a faulty access',
          cause,
        });
    this.#events?.failed(error);
  }

  #keepAlive(): void {
    const alive = this.#isNeeded || this.#calls.size > 0;
    if (this.#isStopping || alive === this.#isKeptAlive) return;
    this.#isKeptAlive = alive;
    this.#thread.keepAlive(alive);
  }
}

/** process.exit waits for native calls to return. Halting makes that quick. */
const boards = new Set<Board>();
atExit(() => {
  for (const board of boards) stopWorker(board);
});
