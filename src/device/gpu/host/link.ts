import { firstLine, MillraceError } from '../../../kernel/error.js';
import type { DeviceInfo } from '../../device.js';
import type { OpenOptions } from '../../kinds.js';
import { Watch } from '../../pool/schedule/watch.js';
import { atExit, startThread, type Thread } from '../../pool/threads/threads.js';
import { type Board, giveBoard, halt, LINES, newBoard, Word, wakeWorker } from '../wire/board.js';
import { errorFrom, type Message, type RequestKind, type Requests, type WorkerStart } from '../wire/messages.js';
import type { CrewThreads } from './crew-threads.js';

/** How a device's worker is started. */
export interface Opening<Own> {
  /** The device's id, for names and errors. */
  readonly device: string;
  /** The worker's module (`workerBeside(import.meta.url)`), which calls `serve`. */
  readonly worker: URL;
  /** Plain data for the driver. */
  readonly own: Own;
  readonly options: OpenOptions;
  /** How long the worker may take to release its runtime before it is terminated. */
  readonly joinMs?: number;
  /** Helps the driver copy pageable host memory. */
  readonly crew?: CrewThreads;
  /** See `ThreadStart.isKept`: for drivers that load koffi. */
  readonly isKept?: boolean;
}

/** Events that the link reports to its owner. */
export interface LinkEvents {
  /** The board has changed. Returns true if there is more to wait for. */
  news(): boolean;
  /** A mark's group failed. */
  markFailed(line: number, mark: number, error: Error): void;
  /** A resident grid has ended for good. */
  gridOver(number: number, error: MillraceError): void;
  /** The worker has died, or its driver has failed. */
  failed(error: MillraceError): void;
}

/** How long a worker may take to release its runtime before it is terminated. */
const JOIN_MS = 10_000;

/** The default limit of open streams; at most half of the board's lines. */
const STREAMS = 32;

/** Starts the worker and opens its driver. Rejects with the driver's error. */
export async function openLink<Own>(opening: Opening<Own>): Promise<Link> {
  const { streams = STREAMS } = opening.options;
  if (!Number.isInteger(streams) || streams < 1 || streams > LINES / 2) {
    throw new MillraceError({
      code: 'usage',
      message: `${streams} is no number of streams`,
      asked: `streams ${streams}`,
      advice: `give a whole number from 1 to ${LINES / 2}`,
    });
  }
  const link = new Link(opening);
  await link.opened();
  return link;
}

/** The main thread's side of a device's worker. */
export class Link {
  readonly board: Board = newBoard();
  readonly options: OpenOptions;
  readonly #device: string;
  readonly #joinMs: number;
  readonly #thread: Thread;
  readonly #watch: Watch;
  readonly #crew: CrewThreads | undefined;
  readonly #calls = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  #events: LinkEvents | undefined;
  #info: DeviceInfo | undefined;
  #refusal: Error | undefined;
  #nextCall = 1;
  #needed = false;
  #alive = true;
  #stopping = false;

  constructor({ device, worker, own, options, joinMs = JOIN_MS, crew, isKept = false }: Opening<unknown>) {
    this.#device = device;
    this.#joinMs = joinMs;
    this.options = options;
    this.#crew = crew;
    const { completion = 'poll', telemetry = false } = options;
    const data: WorkerStart = { board: this.board.memory, completion, telemetry, crew: crew?.memory, own };
    boards.add(this.board);
    this.#thread = startThread({
      file: worker,
      name: `millrace ${device}`,
      data,
      isKept,
      heard: (message) => this.#heard(message as Message),
      died: (cause) => this.#died(cause),
    });
    this.#watch = new Watch(this.board.words, Word.news, () => !this.#stopping && (this.#events?.news() ?? false));
  }

  /** Resolves when the driver is open. */
  async opened(): Promise<void> {
    try {
      await this.#thread.ready;
      this.#keepAlive();
    } catch (cause) {
      await this.stop();
      if (this.#refusal instanceof MillraceError) throw this.#refusal;
      throw new MillraceError({
        code: 'device-failed',
        message: `the worker thread of device ${this.#device} could not start`,
        asked: `device ${this.#device}`,
        advice: 'the cause says why',
        cause: this.#refusal ?? cause,
      });
    }
  }

  /** The most streams that may be open at a time. */
  get most(): number {
    return this.options.streams ?? STREAMS;
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
    Atomics.add(this.board.words, Word.mail, 1);
    wakeWorker(this.board.words);
    return answered as Promise<Requests[K]['answer']>;
  }

  /** Called when the driver is about to copy `bytes` bytes of pageable memory. */
  staging(bytes: number): void {
    if (!this.#stopping) this.#crew?.expect(bytes);
  }

  /** Starts watching the board. `needed`: keeps the process alive meanwhile. */
  watch(needed: boolean): void {
    if (needed) this.need(true);
    this.#watch.start();
  }

  /** Makes the watch check again without a notification from the worker. */
  look(): void {
    if (!this.#stopping) this.#watch.again();
  }

  /** The watch's promise does not keep the process alive; a referenced worker does. */
  need(needed: boolean): void {
    this.#needed = needed;
    this.#keepAlive();
  }

  /** Ends the worker and waits for it; calls in flight reject. */
  async stop(error?: Error): Promise<void> {
    this.#stopping = true;
    halt(this.board);
    this.#refuseCalls(error ?? new Error('the worker has ended'));
    this.#thread.keepAlive(true);
    const late = setTimeout(() => this.#thread.terminate(), this.#joinMs);
    const isResting = await this.#thread.ended;
    clearTimeout(late);
    await this.#crew?.stop();
    // If a thread does not rest, its runtime may still access the board.
    if (boards.delete(this.board) && isResting) giveBoard(this.board);
  }

  #refuseCalls(error: Error): void {
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
  }

  #heard(message: Message): void {
    switch (message.kind) {
      case 'opened':
        this.#info = message.info;
        break;
      case 'refused':
        this.#refusal = errorFrom(message.error);
        break;
      case 'answer':
        this.#answered(message.call)?.resolve(message.answer);
        break;
      case 'error':
        this.#answered(message.call)?.reject(errorFrom(message.error));
        break;
      case 'failed':
        if (!this.#stopping) this.#events?.markFailed(message.line, message.mark, errorFrom(message.error));
        break;
      case 'gridOver': {
        const error = errorFrom(message.error);
        if (!this.#stopping && error instanceof MillraceError) this.#events?.gridOver(message.number, error);
        break;
      }
      case 'fatal':
        this.#failed(errorFrom(message.error));
        break;
      case 'log':
        this.options.log?.(message.line);
        break;
    }
  }

  #answered(call: number): { resolve(answer: unknown): void; reject(error: Error): void } | undefined {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    this.#keepAlive();
    return waiting;
  }

  #died(cause: unknown): void {
    this.#failed(cause instanceof Error ? cause : new Error(String(cause)));
  }

  #failed(cause: Error): void {
    if (this.#stopping) return;
    const known = cause instanceof MillraceError && cause.code === 'device-failed';
    const error = known
      ? cause
      : new MillraceError({
          code: 'device-failed',
          message: `the worker thread of device ${this.#device} died: ${firstLine(cause)}`,
          asked: 'work in flight',
          advice:
            'open the device again; if it happens again, run with a checked build to find the access that does it',
          cause,
        });
    this.#events?.failed(error);
  }

  #keepAlive(): void {
    const alive = this.#needed || this.#calls.size > 0;
    if (this.#stopping || alive === this.#alive) return;
    this.#alive = alive;
    this.#thread.keepAlive(alive);
  }
}

/** process.exit waits for native calls to return. Halting makes that quick. */
const boards = new Set<Board>();
atExit(() => {
  for (const board of boards) halt(board);
});
