import { Order, QueueState } from '../../../kernel/abi/resident-abi.js';
import { MillraceError } from '../../../kernel/error.js';
import { FatalError, type GridDriver, type GridHandle, type GridSetup } from '../worker/driver.js';
import { Expectations, kindWith, restUs } from '../worker/poll.js';
import type { ResidentMemory } from './memory.js';

export interface GridsOptions {
  /** Microseconds. */
  now(): number;
  /** A grid has ended for good. */
  over(number: number, error: MillraceError): void;
  log(line: string): void;
  /** Milliseconds, while nothing else can be done. */
  sleep?(ms: number): void;
}

/** With work in its queue a grid says something within this time, or eight times what was expected: else it stands still. */
const STALL_US = 3e6;
/** How long a grid may take to leave before it is told to stop, and to stop before it is given up. */
const LEAVE_US = 1e6;
const STOP_US = 2e6;
/** Whether a launch is over is asked so often: 1 µs each time. */
const ASK_US = 1000;
/** After a call that may wait for the device grids stay away for a while, since more of them tend to follow. */
const AWAY_US = 5000;
/** Work of streams gets the whole device when it has waited for so long beside a grid, and for so long. */
const YIELD_US = 30_000;
/** Launches in a row that end at once, with work in the queue and without having touched it. */
const MOST_VAIN = 3;

/**
 * The worker's side of resident grids: launches them when there is work, tells the main thread of new flags, and gets
 * them off the device when somebody needs it. At most `driver.most` run side by side, on processors of their own.
 */
export class Grids {
  readonly #driver: GridDriver;
  readonly #options: GridsOptions;
  readonly #grids = new Map<number, WorkerGrid>();
  /** Grids are not launched before. */
  #awayUntilUs = Number.NEGATIVE_INFINITY;
  /** Since when streams have had work beside a grid. */
  #crowdedUs: number | undefined;

  constructor(driver: GridDriver, options: GridsOptions) {
    this.#driver = driver;
    this.#options = options;
    driver.beforeWaiting(() => this.pause());
  }

  /** Launches so far, of all grids. */
  launches = 0;

  /** False where it cannot be had: as many as may run side by side are there, or the memory cannot be shared. */
  open(number: number, memory: ResidentMemory, setup: GridSetup): boolean {
    if (this.#grids.size >= this.#driver.most) return false;
    const handle = this.#driver.open(setup);
    if (handle === undefined) return false;
    this.#share(() => this.#grids.set(number, new WorkerGrid(number, handle, memory)));
    this.#options.log(`grid ${number}: ${2 ** handle.partsLog} parts, ${memory.capacity} entries`);
    return true;
  }

  /** Ends it and frees what it has. Waits, some milliseconds, until it has stopped; false where it has not. */
  dismiss(number: number): boolean {
    const grid = this.#grids.get(number);
    if (grid === undefined) return true;
    const isStopped = this.#wait([grid], Order.stop, STOP_US);
    this.#grids.delete(number);
    this.#share(() => undefined);
    if (isStopped) this.#driver.close(grid.handle);
    else this.#options.log(`grid ${number} does not stop: its memory goes with the device`);
    return isStopped;
  }

  /** Looks at what is due. True when the main thread has something to look at. `isCrowded`: streams have work too. */
  turn(nowUs: number, isCrowded: boolean): boolean {
    if (this.#grids.size === 0) return false;
    this.#yield(nowUs, isCrowded);
    let moved = false;
    for (const grid of this.#grids.values()) {
      grid.look(nowUs);
      if (grid.isOn) this.#watch(grid, nowUs);
      if (!grid.isOn) grid.settle();
      if (grid.hasNews) moved = true;
      grid.hasNews = false;
      if (grid.wants && nowUs >= this.#awayUntilUs) this.#launch(grid, nowUs);
    }
    return moved;
  }

  /** How long nothing has to be looked at, in microseconds. */
  rest(nowUs: number): number {
    let rest = Number.POSITIVE_INFINITY;
    for (const grid of this.#grids.values()) {
      if (grid.hasNews) return 0; // it was paused since the last turn
      if (grid.isOn) rest = Math.min(rest, grid.lookUs - nowUs);
      else if (grid.wants) rest = Math.min(rest, this.#awayUntilUs - nowUs);
    }
    return Math.max(0, rest);
  }

  /** Gets all grids off the device, nothing lost: what follows may wait until nothing runs. Waits for their parts to end. */
  pause(): void {
    const running = [...this.#grids.values()].filter(({ isOn }) => isOn);
    if (running.length === 0) return;
    this.#clear(running);
    this.#awayUntilUs = this.#options.now() + AWAY_US;
  }

  /** Something that changes who has which processors. */
  #share(change: () => void): void {
    this.#clear([...this.#grids.values()].filter(({ isOn }) => isOn));
    change();
  }

  #clear(running: readonly WorkerGrid[]): void {
    if (this.#wait(running, Order.leave, LEAVE_US)) return;
    const late = running.filter(({ isOn }) => isOn);
    this.#wait(late, Order.stop, STOP_US);
    for (const grid of late) this.#over(grid, 'did not leave the device in time');
  }

  /** False where one has not ended by then. */
  #wait(grids: readonly WorkerGrid[], order: number, patienceUs: number): boolean {
    const { now, sleep = nap } = this.#options;
    const until = now() + patienceUs;
    for (const grid of grids) if (grid.isOn) grid.tell(order);
    for (;;) {
      const left = grids.filter((grid) => grid.isOn && !this.#isEnded(grid));
      if (left.length === 0) return true;
      if (now() >= until) return false;
      sleep(NAP_MS);
    }
  }

  #isEnded(grid: WorkerGrid): boolean {
    if (!this.#driver.ended(grid.handle)) return false;
    grid.ended();
    const ms = ((this.#options.now() - grid.launchedUs) / 1000).toFixed(1);
    this.#options.log(`grid ${grid.number} ended after ${ms} ms, order ${grid.order}, ${grid.left} entries left`);
    return true;
  }

  #watch(grid: WorkerGrid, nowUs: number): void {
    if (nowUs < grid.askUs) return;
    grid.askUs = nowUs + ASK_US;
    if (this.#isEnded(grid)) {
      if (grid.vain >= MOST_VAIN) this.#over(grid, 'ends without taking any work');
      return;
    }
    const { boundMs } = this.#driver;
    const isLong = boundMs !== undefined && nowUs - grid.launchedUs > boundMs * 1000;
    if (isLong && grid.order === Order.run) grid.tell(Order.leave);
    if (!grid.isStill(nowUs, STALL_US)) return;
    this.#options.log(`grid ${grid.number} stands still with ${grid.left} entries in its queue`);
    this.#wait([grid], Order.stop, STOP_US);
    this.#over(grid, 'stood still');
  }

  #launch(grid: WorkerGrid, nowUs: number): void {
    const at = [...this.#grids.keys()].indexOf(grid.number);
    const { epoch, head, isFresh } = grid.begin(nowUs);
    try {
      this.#driver.launch(grid.handle, { epoch, head, isFresh, share: { at, of: this.#grids.size } });
    } catch (error) {
      grid.fail();
      if (error instanceof FatalError || !(error instanceof MillraceError)) throw error;
      this.#over(grid, 'could not be launched', error);
      return;
    }
    this.launches++;
    this.#options.log(`grid ${grid.number} launched from part ${head}, share ${at + 1} of ${this.#grids.size}`);
  }

  /** What runs on streams beside a grid has a processor or two: where it takes long, they take turns. */
  #yield(nowUs: number, isCrowded: boolean): void {
    const running = [...this.#grids.values()].filter(({ isOn, order }) => isOn && order === Order.run);
    if (!isCrowded || running.length === 0) {
      this.#crowdedUs = undefined;
      return;
    }
    this.#crowdedUs ??= nowUs;
    if (nowUs - this.#crowdedUs < YIELD_US) return;
    for (const grid of running) grid.tell(Order.leave);
    this.#awayUntilUs = nowUs + YIELD_US;
  }

  #over(grid: WorkerGrid, what: string, cause?: MillraceError): void {
    if (grid.isOver) return;
    grid.isOver = true;
    this.#options.log(`grid ${grid.number} ${what}: ${grid.describe()}`);
    this.#options.over(
      grid.number,
      new MillraceError({
        code: cause?.code ?? 'device-failed',
        message: `a resident grid ${what}${cause ? `: ${cause.summary}` : ''}`,
        asked: `${grid.left} ranges on it`,
        advice: 'they are run by launches instead; if it happens again, use another pipeline than persistent',
      }),
    );
  }
}

/** One grid: which entries it has done, and where its next launch goes on. */
class WorkerGrid {
  readonly number: number;
  readonly handle: GridHandle;
  readonly #memory: ResidentMemory;
  isOn = false;
  isOver = false;
  /** Something for the main thread, since it was last told. */
  hasNews = false;
  /** When to look at flags next, and when to ask whether the launch is over. */
  lookUs = 0;
  askUs = 0;
  launchedUs = 0;
  /** Launches in a row that did nothing. */
  vain = 0;
  /** The oldest entry that is not done, and those behind it that are. */
  #oldest = 0;
  readonly #done = new Set<number>();
  #epoch = 0;
  /** Parts are numbered over all entries: where the launch begins. */
  #head = 0;
  #isFresh = true;
  /** Since when there is work and nothing has been done, and looks since. */
  #sinceUs: number | undefined;
  #looks = 0;
  readonly #expected = new Expectations();

  constructor(number: number, handle: GridHandle, memory: ResidentMemory) {
    this.number = number;
    this.handle = handle;
    this.#memory = memory;
  }

  /** Entries that are not done. */
  get left(): number {
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

  /** There is work, and nothing stands against a launch. */
  get wants(): boolean {
    if (this.isOn || this.isOver) return false;
    const epoch = this.#memory.load('epoch');
    return this.#memory.load('resumed') === epoch && this.#memory.load('ended') === epoch && this.left > 0;
  }

  tell(order: number): void {
    if (order > this.order) this.#memory.store('order', order);
    this.askUs = 0;
    this.lookUs = 0;
  }

  /** Takes note of new flags, when that is due. */
  look(nowUs: number): void {
    const isLeaving = this.order !== Order.run || this.#memory.load('epoch') !== this.#epoch;
    if (!this.isOn || (nowUs < this.lookUs && this.#sinceUs !== undefined && !isLeaving)) return;
    const before = this.#oldest + this.#done.size;
    this.#collect();
    const done = this.#oldest + this.#done.size - before;
    const moved = done > 0;
    if (moved) this.#learn(nowUs, done);
    if (this.left === 0) this.#sinceUs = undefined;
    else if (moved || this.#sinceUs === undefined) {
      this.#sinceUs = nowUs;
      this.#looks = 0;
    }
    if (isLeaving) this.lookUs = nowUs + LEAVING_STEP_US;
    else if (this.#sinceUs === undefined) this.lookUs = Number.POSITIVE_INFINITY;
    else this.lookUs = nowUs + restUs(nowUs - this.#sinceUs, this.#expectedUs, this.#looks++);
    if (isLeaving) this.askUs = 0;
  }

  isStill(nowUs: number, patienceUs: number): boolean {
    if (this.#sinceUs === undefined) return false;
    return nowUs - this.#sinceUs > Math.max(patienceUs, 8 * (this.#expectedUs ?? 0));
  }

  /** It is about to be launched. */
  begin(nowUs: number): { readonly epoch: number; readonly head: number; readonly isFresh: boolean } {
    const { partsLog } = this.handle;
    const isFresh = this.#isFresh;
    if (isFresh) this.#head = this.#oldest * 2 ** partsLog;
    this.#memory.store('order', Order.run);
    this.#memory.store('launches', this.#memory.load('launches') + 1);
    this.#epoch = this.#memory.load('ended');
    this.#isFresh = false;
    this.isOn = true;
    this.launchedUs = nowUs;
    this.lookUs = nowUs;
    this.askUs = nowUs + ASK_US;
    this.#sinceUs = undefined;
    return { epoch: this.#epoch, head: this.#head, isFresh };
  }

  /** It could not be launched. */
  fail(): void {
    this.isOn = false;
    this.#isFresh = true;
  }

  /** Its launch is over. Parts that were given up are those from `seen` on; what was dropped is done anew by others. */
  ended(): void {
    const { partsLog } = this.handle;
    this.isOn = false;
    this.hasNews = true;
    this.#collect();
    const [taken, seen] = [this.#memory.state(QueueState.head), this.#memory.state(QueueState.seen) * 2 ** partsLog];
    const head = Math.min(taken, Math.max(seen, this.#head));
    const isStopped = this.#memory.load('order') === Order.stop || this.#memory.load('epoch') !== this.#epoch;
    this.vain = head === this.#head && this.left > 0 && this.order === Order.run && !isStopped ? this.vain + 1 : 0;
    this.#head = head;
    this.#isFresh ||= isStopped;
  }

  /** With nothing on the device: a cancel has been done. */
  settle(): void {
    const epoch = this.#memory.load('epoch');
    if (this.#memory.load('resumed') === epoch && this.#isFresh && this.#oldest < this.#memory.first) {
      this.#oldest = this.#memory.first;
      this.#done.clear();
    }
    if (this.#memory.load('ended') === epoch) return;
    this.#isFresh = true;
    this.#memory.store('ended', epoch);
    this.hasNews = true;
  }

  #collect(): void {
    const { tail } = this.#memory;
    for (let number = this.#oldest; number < tail; number++) {
      if (this.#done.has(number) || !this.#memory.isDone(number)) continue;
      this.#done.add(number);
      this.hasNews = true;
      const { bigs, seenAt } = this.#memory;
      Atomics.store(bigs, seenAt + this.#memory.slot(number), process.hrtime.bigint());
    }
    while (this.#done.delete(this.#oldest)) this.#oldest++;
  }

  /** How long the oldest entry should take. */
  get #expectedUs(): number | undefined {
    return this.#expected.of(this.#kind(this.#oldest));
  }

  /** Several may have been done since something last was: they shared the time. */
  #learn(nowUs: number, done: number): void {
    if (this.#sinceUs === undefined) return;
    const isEarly = this.#looks <= 1;
    const us = (isEarly ? Math.min(nowUs, this.lookUs) : nowUs) - this.#sinceUs;
    this.#expected.learn(this.#kind(this.#oldest - 1), us / done, isEarly);
  }

  #kind(number: number): number {
    return kindWith(0, 0, this.#memory.count(number));
  }
}

/** Between looks at a grid that is to leave. */
const LEAVING_STEP_US = 100;
const NAP_MS = 0.1;
const nobody = new Int32Array(new SharedArrayBuffer(4));
const nap = (ms: number): void => void Atomics.wait(nobody, 0, 0, ms);
