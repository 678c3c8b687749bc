import { Line, lineWord, RING, slotNumber } from './board.js';
import type { PoolCompletion } from './completion.js';
import type { WorkerPool } from './pool.js';
import type { Held as Used } from './uses.js';

/** What a queued command needs until it is done: buffers, programs and arrays to hold, a mark to settle. */
export interface Held {
  readonly uses?: readonly Used[];
  readonly data?: readonly unknown[];
  readonly mark?: PoolCompletion;
  /** The host's part after the workers' part; false if it must be called again. */
  readonly after?: () => boolean;
}

/** A command's numbers, or a function that makes them when the command's turn comes, if the host must act first. */
export type Pending = readonly number[] | (() => readonly number[] | undefined);

interface Queued {
  readonly command: Pending;
  readonly held: Held;
}

/**
 * The main thread's side of one stream's ring. It never blocks: commands that do not fit wait in a list until the
 * workers have freed slots.
 */
export class Queue {
  readonly line: number;
  readonly #pool: WorkerPool;
  readonly #word: number;
  readonly #held: (Held | undefined)[] = new Array(RING).fill(undefined);
  #spilled: Queued[] = [];
  #spilledFrom = 0;
  /** Commands put on the board, and how many of them are known to be done; modulo 2^32. */
  #tail: number;
  #seen: number;
  #marks: number;
  #unsettled = 0;

  constructor(pool: WorkerPool, line: number) {
    this.#pool = pool;
    this.line = line;
    this.#word = lineWord(line);
    const { words } = pool.board;
    this.#tail = Atomics.load(words, this.#word + Line.tail);
    this.#seen = this.#tail;
    // A reused line continues its count, so that waits for an earlier stream's marks stay satisfied.
    this.#marks = Atomics.load(words, this.#word + Line.passed);
  }

  /** True if a mark has not settled or a command is not on the board yet: the process must stay alive. */
  get busy(): boolean {
    return this.#unsettled > 0 || this.spilling;
  }

  get spilling(): boolean {
    return this.#spilledFrom < this.#spilled.length;
  }

  get empty(): boolean {
    return this.#seen === this.#tail && !this.busy;
  }

  get epoch(): number {
    return Atomics.load(this.#pool.board.words, this.#word + Line.epoch);
  }

  cancel(): void {
    Atomics.add(this.#pool.board.words, this.#word + Line.epoch, 1);
  }

  /** Returns the number of the next mark. */
  nextMark(): number {
    this.#marks = (this.#marks + 1) | 0;
    return this.#marks;
  }

  push(command: Pending, held: Held): void {
    for (const used of held.uses ?? []) used.hold();
    if (held.mark) this.#unsettled++;
    if (this.#full()) this.settle();
    if (this.spilling || !this.#tryPlace(command, held)) this.#spilled.push({ command, held });
  }

  /** Processes what the workers have done. True if marks or commands are still pending. */
  settle(): boolean {
    this.#collect();
    for (let next = this.#spilled[this.#spilledFrom]; next; next = this.#spilled[this.#spilledFrom]) {
      if (!this.#tryPlace(next.command, next.held)) break;
      this.#spilledFrom++;
    }
    if (!this.spilling) {
      this.#spilled = [];
      this.#spilledFrom = 0;
    }
    return this.busy;
  }

  /** Asks the workers to notify when this queue advances, even without a mark. False if it is already empty. */
  wantNews(): boolean {
    const { words } = this.#pool.board;
    Atomics.store(words, this.#word + Line.want, 1);
    return Atomics.load(words, this.#word + Line.head) !== this.#tail;
  }

  /** Fails all unsettled marks. Keeps what commands hold: a worker may still be executing one. */
  fail(error: Error): void {
    for (const held of this.#held) held?.mark?.fail(error);
    for (const { held } of this.#spilled.slice(this.#spilledFrom)) held.mark?.fail(error);
    this.#spilled = [];
    this.#spilledFrom = 0;
    this.#unsettled = 0;
  }

  #full(): boolean {
    return ((this.#tail - this.#seen) | 0) >= RING;
  }

  #tryPlace(command: Pending, held: Held): boolean {
    if (this.#full()) return false;
    const numbers = typeof command === 'function' ? command() : command;
    if (numbers) this.#place(numbers, held);
    return numbers !== undefined;
  }

  #place(command: readonly number[], held: Held): void {
    const { words, numbers } = this.#pool.board;
    const slot = slotNumber(this.line, this.#tail);
    for (let at = 0; at < command.length; at++) numbers[slot + at] = command[at] ?? 0;
    this.#held[this.#tail & (RING - 1)] = held;
    const before = this.#tail;
    this.#tail = (this.#tail + 1) | 0;
    Atomics.store(words, this.#word + Line.tail, this.#tail);
    // The worker that ends the previous command reads `tail` again, so a busy queue needs no wake-up.
    if (Atomics.load(words, this.#word + Line.head) === before) this.#pool.kick();
  }

  #collect(): void {
    const head = Atomics.load(this.#pool.board.words, this.#word + Line.head);
    while (this.#seen !== head) {
      const at = this.#seen & (RING - 1);
      const held = this.#held[at];
      if (held?.after && !held.after()) return;
      this.#held[at] = undefined;
      for (const used of held?.uses ?? []) used.release();
      if (held?.mark) {
        this.#unsettled--;
        held.mark.settle(this.#pool.board, slotNumber(this.line, this.#seen));
      }
      this.#seen = (this.#seen + 1) | 0;
    }
  }
}
