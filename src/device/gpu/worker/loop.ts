import { clockNs } from '../../clock.js';
import type { DeviceTelemetry } from '../../device.js';
import { Grids } from '../resident/grids.js';
import { type Board, epochWord, LINES, notifyMain, Word, wakeWorker } from '../wire/board.js';
import { serializeError, type WorkerCall, type WorkerMessage } from '../wire/messages.js';
import { ResultWriter } from '../wire/results.js';
import { CommandReader, type SharedHostMemory } from './command-reader.js';
import type { Driver, DriverHost, FatalError } from './driver.js';
import { WorkerLine } from './line.js';
import { MarkPoller } from './mark-poller.js';
import { RequestHandler } from './request-handler.js';
import { ResourceTable } from './resource-table.js';

export interface LoopOptions {
  readonly completion: DriverHost['completion'];
  readonly calls: DriverHost['calls'];
  post(message: WorkerMessage): void;
  /** Returns microseconds. */
  now?(): number;
}

/** A command that waits for space is retried after RETRY_MS, then at intervals that double up to LONG_RETRY_MS. */
const RETRY_MS = 0.2;
const LONG_RETRY_MS = 2;

/**
 * The main loop of a GPU device's worker. A turn does everything that can be done now and returns for how long there is
 * nothing more, unless the worker is woken. It never blocks. Errors that it throws end the device.
 */
export class Loop {
  readonly #board: Board;
  readonly #driver: Driver;
  readonly #options: LoopOptions;
  /** Lines ever opened, as a list and by number. */
  readonly #lines: WorkerLine[] = [];
  readonly #byNumber: (WorkerLine | undefined)[] = new Array(LINES).fill(undefined);
  readonly #epochs = new Int32Array(LINES);
  readonly #memories: ResourceTable<unknown>;
  readonly #hosts: ResourceTable<SharedHostMemory>;
  readonly #programs: ResourceTable<unknown>;
  readonly #commands: CommandReader;
  readonly #poller: MarkPoller;
  readonly #requests: RequestHandler;
  readonly #results: ResultWriter;
  readonly #grids: Grids | undefined;
  readonly #now: () => number;
  #fatal: FatalError | undefined;
  #retryMs = RETRY_MS;
  /** True if something was done in the last turn: more may follow at once. */
  isActive = false;

  constructor(board: Board, driver: Driver, options: LoopOptions) {
    const { post, completion, now = () => performance.now() * 1000 } = options;
    this.#board = board;
    this.#driver = driver;
    this.#options = options;
    this.#now = now;
    const results = new ResultWriter(board);
    const memories = new ResourceTable<unknown>((memory) => driver.free(memory));
    const hosts = new ResourceTable<SharedHostMemory>(({ locked }) => locked && driver.unlock?.(locked));
    const programs = new ResourceTable<unknown>((program) => driver.unload(program));
    const line = (number: number): WorkerLine => this.#line(number);
    this.#commands = new CommandReader(board, driver, { memories, hosts, programs, line });
    this.#grids =
      driver.grids &&
      new Grids(driver.grids, {
        now,
        gridEnded: (number, error) => post({ kind: 'gridOver', number, error: serializeError(error) }),
        log: (line) => post({ kind: 'log', line }),
      });
    this.#requests = new RequestHandler(driver, {
      grids: this.#grids,
      memories,
      hosts,
      programs,
      telemetry: () => this.telemetry(),
      post,
      fatal: (error) => {
        this.#fatal = error;
        wakeWorker(board.words);
      },
    });
    this.#poller = new MarkPoller(
      driver,
      this.#lines,
      {
        noted: (line, mark) => results.put({ kind: 'noted', line, mark }),
        passed: (line, mark, { startedNs, endedNs, complete, detail }) =>
          results.put({ kind: 'passed', line, mark, startedNs, endedNs, noticedNs: clockNs(), complete, detail }),
        trapped: (line, mark, { program, site, index, length }) =>
          results.put({ kind: 'trapped', line, mark, program, site, index, length }),
        failed: (line, mark, error) => post({ kind: 'failed', line, mark, error: serializeError(error) }),
      },
      { completion, now },
    );
    this.#results = results;
    this.#memories = memories;
    this.#hosts = hosts;
    this.#programs = programs;
  }

  /** Runs one turn. Returns the most milliseconds to sleep; 0: turn again at once. */
  runTurn(): number {
    if (this.#fatal) throw this.#fatal;
    this.isActive = this.#drain();
    this.#cancel();
    const now = this.#now();
    if (this.#send(now)) this.isActive = true;
    const waited = this.#options.completion === 'sync' && this.#poller.block();
    if (this.#poller.pollDue(waited ? this.#now() : now)) {
      this.isActive = true;
      this.#send(now); // commands that waited for space, or for another line
    }
    const isCrowded = this.#lines.some(({ marks }) => marks.first !== undefined);
    if (this.#grids?.runTurn(this.#now(), isCrowded)) notifyMain(this.#board.words);
    this.#releaseUnused();
    this.#results.flush();
    return this.#sleepMs();
  }

  /** Handles a message. Takes the commands that were written before it first. */
  handleCall(call: WorkerCall): void {
    this.#drain();
    this.#cancel(); // first: some drivers free when running launches have ended
    this.#releaseUnused();
    this.#requests.handle(call);
  }

  /**
   * Called when the device is about to close. Takes the commands still in the ring and frees what they release: a
   * runtime keeps its context, with open files, as long as its memory is in use.
   */
  drainForClose(): void {
    this.#drain();
    this.#releaseUnused();
  }

  telemetry(): DeviceTelemetry {
    const { polls, blockingWaits, blockedNs, lostCallbacks } = this.#poller;
    const launches = this.#commands.launches + (this.#grids?.launches ?? 0);
    return { calls: this.#options.calls.table(), launches, polls, blockingWaits, blockedNs, lostCallbacks };
  }

  #drain(): boolean {
    const { words } = this.#board;
    const any = this.#commands.drain();
    if (any && Atomics.exchange(words, Word.wantsSpace, 0) === 1) notifyMain(words);
    return any;
  }

  #line(number: number): WorkerLine {
    const known = this.#byNumber[number];
    if (known) return known;
    const { words } = this.#board;
    const line = new WorkerLine(number, this.#driver, () => Atomics.load(words, epochWord(number)));
    this.#epochs[number] = Atomics.load(words, epochWord(number));
    this.#byNumber[number] = line;
    this.#lines.push(line);
    return line;
  }

  /** Notifies the driver of streams whose epoch has changed. */
  #cancel(): void {
    for (const line of this.#lines) {
      const epoch = Atomics.load(this.#board.words, epochWord(line.number));
      if (epoch === this.#epochs[line.number]) continue;
      this.#epochs[line.number] = epoch;
      line.cancel(epoch);
    }
  }

  /** Sends the commands of all lines. Lines may wait for each other, so it repeats as long as any advances. */
  #send(now: number): boolean {
    let any = false;
    for (let moved = true; moved; ) {
      moved = false;
      for (const line of this.#lines) if (line.hasUnsent && line.advance(now)) moved = true;
      any ||= moved;
    }
    return any;
  }

  /** Frees memory, unloads programs and closes lines that nothing uses any more. */
  #releaseUnused(): void {
    if (this.#memories.hasPendingFrees && this.#memories.sweep()) this.#requests.retryAllocations();
    if (this.#hosts.hasPendingFrees) this.#hosts.sweep();
    if (this.#programs.hasPendingFrees) this.#programs.sweep();
    for (const line of this.#lines) {
      if (!line.isClosing || !line.isIdle) continue;
      line.close();
      this.#results.put({ kind: 'closed', line: line.number });
    }
  }

  #sleepMs(): number {
    const now = this.#now();
    let ms =
      Math.min(this.#poller.untilNextPollUs(now), this.#grids?.untilNextCheckUs(now) ?? Number.POSITIVE_INFINITY) /
      1000;
    if (this.#results.isFull || this.#lines.some((line) => line.hasUnsent)) {
      this.#retryMs = this.isActive ? RETRY_MS : Math.min(2 * this.#retryMs, LONG_RETRY_MS);
      ms = Math.min(ms, this.#retryMs);
    }
    const next = this.#driver.nextCallMs?.();
    return next === undefined ? ms : Math.min(ms, Math.max(0, next));
  }
}
