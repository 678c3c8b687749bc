import { RING_SLOTS, StreamWord, slotOffset, streamWordOffset } from './board.js';
import type { PoolCompletion } from './completion.js';
import type { WorkerPool } from './pool.js';
import type { RefCounted as Used } from './ref-count.js';

/** The resources of a queued command until it is done: buffers, programs and arrays to hold, a mark to settle. */
export interface CommandResources {
  readonly uses?: readonly Used[];
  readonly keepAlive?: readonly unknown[];
  readonly mark?: PoolCompletion;
  /** The host's part after the workers' part; false if it must be called again. */
  readonly finish?: () => boolean;
}

/** A command's numbers, or a function that makes them when the command's turn comes, if the host must act first. */
export type PendingCommand = readonly number[] | (() => readonly number[] | undefined);

interface SpilledCommand {
  readonly command: PendingCommand;
  readonly resources: CommandResources;
}

/**
 * The main thread's side of one stream's ring. It never blocks: commands that do not fit wait in a list until the
 * workers have freed slots.
 */
export class PoolQueue {
  readonly stream: number;
  readonly #pool: WorkerPool;
  readonly #streamOffset: number;
  readonly #resources: (CommandResources | undefined)[] = new Array(RING_SLOTS).fill(undefined);
  #spilled: SpilledCommand[] = [];
  #spilledStart = 0;
  /** Commands put on the board, and how many of them are known to be done; modulo 2^32. */
  #tail: number;
  #done: number;
  #lastMark: number;
  #unsettledMarks = 0;

  constructor(pool: WorkerPool, stream: number) {
    this.#pool = pool;
    this.stream = stream;
    this.#streamOffset = streamWordOffset(stream);
    const { words } = pool.board;
    this.#tail = Atomics.load(words, this.#streamOffset + StreamWord.tail);
    this.#done = this.#tail;
    // A reused number continues the count of marks, so that waits for an earlier stream's marks stay satisfied.
    this.#lastMark = Atomics.load(words, this.#streamOffset + StreamWord.marksPassed);
  }

  /** True if a mark has not settled or a command is not on the board yet: the process must stay alive. */
  get isBusy(): boolean {
    return this.#unsettledMarks > 0 || this.isSpilling;
  }

  get isSpilling(): boolean {
    return this.#spilledStart < this.#spilled.length;
  }

  get isEmpty(): boolean {
    return this.#done === this.#tail && !this.isBusy;
  }

  get epoch(): number {
    return Atomics.load(this.#pool.board.words, this.#streamOffset + StreamWord.epoch);
  }

  cancel(): void {
    Atomics.add(this.#pool.board.words, this.#streamOffset + StreamWord.epoch, 1);
  }

  /** Returns the number of the next mark. */
  nextMark(): number {
    this.#lastMark = (this.#lastMark + 1) | 0;
    return this.#lastMark;
  }

  push(command: PendingCommand, resources: CommandResources): void {
    for (const used of resources.uses ?? []) used.retain();
    if (resources.mark) this.#unsettledMarks++;
    if (this.#isFull()) this.settle();
    if (this.isSpilling || !this.#tryPlace(command, resources)) this.#spilled.push({ command, resources });
  }

  /** Processes what the workers have done. True if marks or commands are still pending. */
  settle(): boolean {
    this.#settleDone();
    for (let next = this.#spilled[this.#spilledStart]; next; next = this.#spilled[this.#spilledStart]) {
      if (!this.#tryPlace(next.command, next.resources)) break;
      this.#spilledStart++;
    }
    if (!this.isSpilling) {
      this.#spilled = [];
      this.#spilledStart = 0;
    }
    return this.isBusy;
  }

  /** Asks the workers to notify when this queue advances, even without a mark. False if it is already empty. */
  requestNotify(): boolean {
    const { words } = this.#pool.board;
    Atomics.store(words, this.#streamOffset + StreamWord.notifyMain, 1);
    return Atomics.load(words, this.#streamOffset + StreamWord.head) !== this.#tail;
  }

  /** Fails all unsettled marks. Keeps what commands hold: a worker may still be executing one. */
  fail(error: Error): void {
    for (const resources of this.#resources) resources?.mark?.reject(error);
    for (const { resources } of this.#spilled.slice(this.#spilledStart)) resources.mark?.reject(error);
    this.#spilled = [];
    this.#spilledStart = 0;
    this.#unsettledMarks = 0;
  }

  #isFull(): boolean {
    return ((this.#tail - this.#done) | 0) >= RING_SLOTS;
  }

  #tryPlace(command: PendingCommand, resources: CommandResources): boolean {
    if (this.#isFull()) return false;
    const numbers = typeof command === 'function' ? command() : command;
    if (numbers) this.#place(numbers, resources);
    return numbers !== undefined;
  }

  #place(command: readonly number[], resources: CommandResources): void {
    const { words, doubles } = this.#pool.board;
    const slot = slotOffset(this.stream, this.#tail);
    for (let at = 0; at < command.length; at++) doubles[slot + at] = command[at] ?? 0;
    this.#resources[this.#tail & (RING_SLOTS - 1)] = resources;
    const before = this.#tail;
    this.#tail = (this.#tail + 1) | 0;
    Atomics.store(words, this.#streamOffset + StreamWord.tail, this.#tail);
    // The worker that ends the previous command reads `tail` again, so a busy queue needs no wake-up.
    if (Atomics.load(words, this.#streamOffset + StreamWord.head) === before) this.#pool.wakeWorker();
  }

  #settleDone(): void {
    const head = Atomics.load(this.#pool.board.words, this.#streamOffset + StreamWord.head);
    while (this.#done !== head) {
      const at = this.#done & (RING_SLOTS - 1);
      const resources = this.#resources[at];
      if (resources?.finish && !resources.finish()) return;
      this.#resources[at] = undefined;
      for (const used of resources?.uses ?? []) used.release();
      if (resources?.mark) {
        this.#unsettledMarks--;
        resources.mark.settle(this.#pool.board, slotOffset(this.stream, this.#done));
      }
      this.#done = (this.#done + 1) | 0;
    }
  }
}
