import { GridOrder, QueueState } from '../../../kernel/abi/resident-abi.js';
import { MillraceError } from '../../../kernel/error.js';
import { FatalError, type GridDriver, type GridHandle, type GridSetup } from '../worker/driver.js';
import { combineKind, ExpectedTimes, nextPollDelayUs } from '../worker/poll.js';
import type { ResidentMemory } from './memory.js';

export interface GridsOptions {
  /** Returns microseconds. */
  now(): number;
  /** Called when a grid has ended for good. */
  gridEnded(number: number, error: MillraceError): void;
  log(line: string): void;
  /** Sleeps for some milliseconds while nothing else can be done. */
  sleep?(ms: number): void;
}

/**
 * A grid with queued work must finish an entry within this time, or eight times the expected time; otherwise it has
 * stalled.
 */
const STALL_US = 3e6;
/** How long a grid may take to leave before it is ordered to stop, and to stop before it is abandoned. */
const LEAVE_US = 1e6;
const STOP_US = 2e6;
/**
 * The longest interval of reading flags while there is work. Entries overlap and end in no fixed rhythm: on an H200 ranges of
 * 8 ms were on the device for 25 ms, their ends were seen 0.7 to 2 ms late, and the queue was empty for 4 % of the time. A read
 * is a load of a word.
 */
const MAX_READ_US = 250;
/** The interval of asking whether a launch has ended; each query takes 1 µs. */
const QUERY_US = 1000;
/** How long grids stay off the device after a call that may wait for it, since more of them tend to follow. */
const AWAY_US = 5000;
/** After work of streams has waited this long beside a grid, it gets the whole device for the same time. */
const YIELD_US = 30_000;
/** The most consecutive launches that end at once although there is work in the queue. */
const MAX_IDLE_LAUNCHES = 3;

/**
 * The worker's side of resident grids: launches them when there is work, notifies the main thread of new flags, and
 * removes them from the device when other work needs it. At most `driver.maxGrids` run side by side, on separate
 * multiprocessors.
 */
export class Grids {
  readonly #driver: GridDriver;
  readonly #options: GridsOptions;
  readonly #grids = new Map<number, WorkerGrid>();
  /** Grids are not launched before this time. */
  #pausedUntilUs = Number.NEGATIVE_INFINITY;
  /** Since when streams have had work beside a grid. */
  #contendedSinceUs: number | undefined;

  constructor(driver: GridDriver, options: GridsOptions) {
    this.#driver = driver;
    this.#options = options;
    driver.beforeWaiting(() => this.pause());
  }

  /** Launches so far, of all grids. */
  launches = 0;

  /** Opens a grid. False if the maximum number of grids is open, or the memory cannot be shared. */
  open(number: number, memory: ResidentMemory, setup: GridSetup): boolean {
    if (this.#grids.size >= this.#driver.maxGrids) return false;
    const handle = this.#driver.open(setup);
    if (handle === undefined) return false;
    this.#reassign(() => this.#grids.set(number, new WorkerGrid(number, handle, memory)));
    this.#options.log(`grid ${number}: ${2 ** handle.partsLog} parts, ${memory.capacity} entries`);
    return true;
  }

  /** Ends a grid and frees its resources. Waits some milliseconds until it has stopped; false if it has not. */
  close(number: number): boolean {
    const grid = this.#grids.get(number);
    if (grid === undefined) return true;
    const isStopped = this.#wait([grid], GridOrder.stop, STOP_US);
    this.#grids.delete(number);
    this.#reassign(() => undefined);
    if (isStopped) this.#driver.close(grid.handle);
    else this.#options.log(`grid ${number} does not stop: its memory is freed with the device`);
    return isStopped;
  }

  /** Does what is due. True if the main thread must be notified. `isCrowded`: streams have work too. */
  runTurn(nowUs: number, isCrowded: boolean): boolean {
    if (this.#grids.size === 0) return false;
    this.#yield(nowUs, isCrowded);
    let moved = false;
    for (const grid of this.#grids.values()) {
      grid.readFlags(nowUs);
      if (grid.isRunning) this.#watch(grid, nowUs);
      if (!grid.isRunning) grid.completeCancel();
      if (grid.hasNewFlags) moved = true;
      grid.hasNewFlags = false;
      if (grid.isLaunchable && nowUs >= this.#pausedUntilUs) this.#launch(grid, nowUs);
    }
    return moved;
  }

  /** Returns how long nothing has to be checked, in microseconds. */
  untilNextCheckUs(nowUs: number): number {
    let rest = Number.POSITIVE_INFINITY;
    for (const grid of this.#grids.values()) {
      if (grid.hasNewFlags) return 0; // it was paused since the last turn
      if (grid.isRunning) rest = Math.min(rest, grid.nextReadUs - nowUs);
      else if (grid.isLaunchable) rest = Math.min(rest, this.#pausedUntilUs - nowUs);
    }
    return Math.max(0, rest);
  }

  /**
   * Removes all grids from the device without losing work, for a call that may wait until nothing runs. Waits for their
   * parts to end.
   */
  pause(): void {
    const running = [...this.#grids.values()].filter(({ isRunning }) => isRunning);
    if (running.length === 0) return;
    this.#evict(running);
    this.#pausedUntilUs = this.#options.now() + AWAY_US;
  }

  /** Makes a change to the assignment of multiprocessors. */
  #reassign(change: () => void): void {
    this.#evict([...this.#grids.values()].filter(({ isRunning }) => isRunning));
    change();
  }

  #evict(running: readonly WorkerGrid[]): void {
    if (this.#wait(running, GridOrder.leave, LEAVE_US)) return;
    const late = running.filter(({ isRunning }) => isRunning);
    this.#wait(late, GridOrder.stop, STOP_US);
    for (const grid of late) this.#abandon(grid, 'did not leave the device in time');
  }

  /** Gives the grids an order and waits until they have ended. False if one has not ended in time. */
  #wait(grids: readonly WorkerGrid[], order: number, maxWaitUs: number): boolean {
    const { now, sleep = sleepFor } = this.#options;
    const until = now() + maxWaitUs;
    for (const grid of grids) if (grid.isRunning) grid.setOrder(order);
    for (;;) {
      const left = grids.filter((grid) => grid.isRunning && !this.#isEnded(grid));
      if (left.length === 0) return true;
      if (now() >= until) return false;
      sleep(NAP_MS);
    }
  }

  #isEnded(grid: WorkerGrid): boolean {
    if (!this.#driver.hasEnded(grid.handle)) return false;
    grid.launchEnded();
    const ms = ((this.#options.now() - grid.launchedUs) / 1000).toFixed(1);
    this.#options.log(`grid ${grid.number} ended after ${ms} ms, order ${grid.order}, ${grid.unfinished} entries left`);
    return true;
  }

  #watch(grid: WorkerGrid, nowUs: number): void {
    if (nowUs < grid.nextQueryUs) return;
    grid.nextQueryUs = nowUs + QUERY_US;
    if (this.#isEnded(grid)) {
      if (grid.idleLaunches >= MAX_IDLE_LAUNCHES) this.#abandon(grid, 'ended repeatedly without taking any work');
      return;
    }
    const { maxLaunchMs } = this.#driver;
    const isLong = maxLaunchMs !== undefined && nowUs - grid.launchedUs > maxLaunchMs * 1000;
    if (isLong && grid.order === GridOrder.run) grid.setOrder(GridOrder.leave);
    if (!grid.isStalled(nowUs, STALL_US)) return;
    this.#options.log(`grid ${grid.number} has stalled with ${grid.unfinished} entries in its queue`);
    this.#wait([grid], GridOrder.stop, STOP_US);
    this.#abandon(grid, 'stalled');
  }

  #launch(grid: WorkerGrid, nowUs: number): void {
    const at = [...this.#grids.keys()].indexOf(grid.number);
    const { epoch, head, isFresh } = grid.beginLaunch(nowUs);
    try {
      this.#driver.launch(grid.handle, { epoch, head, isFresh, share: { at, of: this.#grids.size } });
    } catch (error) {
      grid.launchFailed();
      if (error instanceof FatalError || !(error instanceof MillraceError)) throw error;
      this.#abandon(grid, 'could not be launched', error);
      return;
    }
    this.launches++;
    this.#options.log(`grid ${grid.number} launched from part ${head}, share ${at + 1} of ${this.#grids.size}`);
  }

  /** Work on streams beside a grid has only a processor or two. If it takes long, streams and grids take turns. */
  #yield(nowUs: number, isCrowded: boolean): void {
    const running = [...this.#grids.values()].filter(({ isRunning, order }) => isRunning && order === GridOrder.run);
    if (!isCrowded || running.length === 0) {
      this.#contendedSinceUs = undefined;
      return;
    }
    this.#contendedSinceUs ??= nowUs;
    if (nowUs - this.#contendedSinceUs < YIELD_US) return;
    for (const grid of running) grid.setOrder(GridOrder.leave);
    this.#pausedUntilUs = nowUs + YIELD_US;
  }

  #abandon(grid: WorkerGrid, reason: string, cause?: MillraceError): void {
    if (grid.isAbandoned) return;
    grid.isAbandoned = true;
    this.#options.log(`grid ${grid.number} ${reason}: ${grid.describe()}`);
    this.#options.gridEnded(
      grid.number,
      new MillraceError({
        code: cause?.code ?? 'device-failed',
        message: `a resident grid ${reason}${cause ? `: ${cause.summary}` : ''}`,
        asked: `${grid.unfinished} ranges on it`,
        advice: 'the ranges run as launches instead; if it happens again, use a pipeline other than persistent',
      }),
    );
  }
}

/** One grid: which entries it has done, and where its next launch resumes. */
class WorkerGrid {
  readonly number: number;
  readonly handle: GridHandle;
  readonly #memory: ResidentMemory;
  isRunning = false;
  isAbandoned = false;
  /** True if there is something new for the main thread. */
  hasNewFlags = false;
  /** When to read the flags next, and when to ask whether the launch has ended. */
  nextReadUs = 0;
  nextQueryUs = 0;
  launchedUs = 0;
  /** Consecutive launches that did nothing. */
  idleLaunches = 0;
  /** The oldest entry that is not done, and the later ones that are. */
  #oldest = 0;
  readonly #done = new Set<number>();
  #epoch = 0;
  /** The part at which the launch begins. Parts are numbered across all entries. */
  #head = 0;
  #isFresh = true;
  /** Since when there is work without progress, and how often flags were read since. */
  #sinceUs: number | undefined;
  #reads = 0;
  readonly #expected = new ExpectedTimes();

  constructor(number: number, handle: GridHandle, memory: ResidentMemory) {
    this.number = number;
    this.handle = handle;
    this.#memory = memory;
  }

  /** The number of entries that are not done. */
  get unfinished(): number {
    return Math.max(0, this.#memory.tail - this.#oldest - this.#done.size);
  }

  get order(): number {
    return this.#memory.load('order');
  }

  describe(): string {
    const { tail, first } = this.#memory;
    const state = Object.entries(QueueState).map(([name, word]) => `${name} ${this.#memory.state(word)}`);
    return `entries ${first} to ${tail}, done below ${this.#oldest} and ${this.#done.size} more, ${state.join(', ')}`;
  }

  /** True if there is work and nothing prevents a launch. */
  get isLaunchable(): boolean {
    if (this.isRunning || this.isAbandoned) return false;
    const epoch = this.#memory.load('epoch');
    return this.#memory.load('resumed') === epoch && this.#memory.load('ended') === epoch && this.unfinished > 0;
  }

  setOrder(order: number): void {
    if (order > this.order) this.#memory.store('order', order);
    this.nextQueryUs = 0;
    this.nextReadUs = 0;
  }

  /** Reads new flags if that is due. */
  readFlags(nowUs: number): void {
    const isLeaving = this.order !== GridOrder.run || this.#memory.load('epoch') !== this.#epoch;
    if (!this.isRunning || (nowUs < this.nextReadUs && this.#sinceUs !== undefined && !isLeaving)) return;
    const before = this.#oldest + this.#done.size;
    this.#collect();
    const done = this.#oldest + this.#done.size - before;
    const moved = done > 0;
    if (moved) this.#learn(nowUs, done);
    if (this.unfinished === 0) this.#sinceUs = undefined;
    else if (moved || this.#sinceUs === undefined) {
      this.#sinceUs = nowUs;
      this.#reads = 0;
    }
    if (isLeaving) this.nextReadUs = nowUs + LEAVING_STEP_US;
    else if (this.#sinceUs === undefined) this.nextReadUs = Number.POSITIVE_INFINITY;
    else {
      const delayUs = nextPollDelayUs(nowUs - this.#sinceUs, this.#expectedUs, this.#reads++);
      this.nextReadUs = nowUs + Math.min(delayUs, MAX_READ_US);
    }
    if (isLeaving) this.nextQueryUs = 0;
  }

  isStalled(nowUs: number, minUs: number): boolean {
    if (this.#sinceUs === undefined) return false;
    return nowUs - this.#sinceUs > Math.max(minUs, 8 * (this.#expectedUs ?? 0));
  }

  /** Called before a launch. */
  beginLaunch(nowUs: number): { readonly epoch: number; readonly head: number; readonly isFresh: boolean } {
    const { partsLog } = this.handle;
    const isFresh = this.#isFresh;
    if (isFresh) this.#head = this.#oldest * 2 ** partsLog;
    this.#memory.store('order', GridOrder.run);
    this.#memory.store('launches', this.#memory.load('launches') + 1);
    this.#epoch = this.#memory.load('ended');
    this.#isFresh = false;
    this.isRunning = true;
    this.launchedUs = nowUs;
    this.nextReadUs = nowUs;
    this.nextQueryUs = nowUs + QUERY_US;
    this.#sinceUs = undefined;
    return { epoch: this.#epoch, head: this.#head, isFresh };
  }

  /** Called if the launch failed. */
  launchFailed(): void {
    this.isRunning = false;
    this.#isFresh = true;
  }

  /** Called when the launch has ended. Parts from `seen` on were not done; dropped entries are run again elsewhere. */
  launchEnded(): void {
    const { partsLog } = this.handle;
    this.isRunning = false;
    this.hasNewFlags = true;
    this.#collect();
    const [taken, seen] = [
      this.#memory.state(QueueState.head),
      this.#memory.state(QueueState.entriesSeen) * 2 ** partsLog,
    ];
    const head = Math.min(taken, Math.max(seen, this.#head));
    const isStopped = this.#memory.load('order') === GridOrder.stop || this.#memory.load('epoch') !== this.#epoch;
    this.idleLaunches =
      head === this.#head && this.unfinished > 0 && this.order === GridOrder.run && !isStopped
        ? this.idleLaunches + 1
        : 0;
    this.#head = head;
    this.#isFresh ||= isStopped;
  }

  /** Called with nothing on the device: completes a cancel. */
  completeCancel(): void {
    const epoch = this.#memory.load('epoch');
    if (this.#memory.load('resumed') === epoch && this.#isFresh && this.#oldest < this.#memory.first) {
      this.#oldest = this.#memory.first;
      this.#done.clear();
    }
    if (this.#memory.load('ended') === epoch) return;
    this.#isFresh = true;
    this.#memory.store('ended', epoch);
    this.hasNewFlags = true;
  }

  #collect(): void {
    const { tail } = this.#memory;
    for (let number = this.#oldest; number < tail; number++) {
      if (this.#done.has(number) || !this.#memory.isDone(number)) continue;
      this.#done.add(number);
      this.hasNewFlags = true;
      const { bigints, seenIndex } = this.#memory;
      Atomics.store(bigints, seenIndex + this.#memory.slot(number), process.hrtime.bigint());
    }
    while (this.#done.delete(this.#oldest)) this.#oldest++;
  }

  /** The expected time of the oldest entry. */
  get #expectedUs(): number | undefined {
    return this.#expected.of(this.#kind(this.#oldest));
  }

  /** Several entries may have ended since the last progress: they shared the time. */
  #learn(nowUs: number, done: number): void {
    if (this.#sinceUs === undefined) return;
    const isEarly = this.#reads <= 1;
    const us = (isEarly ? Math.min(nowUs, this.nextReadUs) : nowUs) - this.#sinceUs;
    this.#expected.learn(this.#kind(this.#oldest - 1), us / done, isEarly);
  }

  #kind(number: number): number {
    return combineKind(0, 0, this.#memory.count(number));
  }
}

/** The interval of reading the flags of a grid that is leaving. */
const LEAVING_STEP_US = 100;
const NAP_MS = 0.1;
let sleepWord: Int32Array | undefined; // made when first needed: pages may have no shared memory, and have no grids
function sleepFor(ms: number): void {
  sleepWord ??= new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(sleepWord, 0, 0, ms);
}
