import { Line, lineWord, RING, slotNumber } from './board.js';
import type { PoolCompletion } from './completion.js';
import type { WorkerPool } from './pool.js';
import type { Held as Used } from './uses.js';

/** What a queued command needs until it is done: buffers, programs and arrays are held, a mark is told. */
export interface Held {
  readonly uses?: readonly Used[];
  readonly data?: readonly unknown[];
  readonly mark?: PoolCompletion;
  /** The host's part once the workers' is done; false when it has to be asked again. */
  readonly after?: () => boolean;
}

/** A command's numbers; or what makes them when its turn has come, where the host has a part in it first. */
export type Pending = readonly number[] | (() => readonly number[] | undefined);

interface Queued {
  readonly command: Pending;
  readonly held: Held;
}

/**
 * The main thread's side of one stream's ring. It never waits: what does not fit goes to a list and follows when the
 * workers have made room.
 */
export class Queue {
  readonly line: number;
  readonly #pool: WorkerPool;
  readonly #word: number;
  readonly #held: (Held | undefined)[] = new Array(RING).fill(undefined);
  #spilled: Queued[] = [];
  #spilledFrom = 0;
  /** Commands put on the board, and of these the ones known to be done; modulo 2^32. */
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
    // A line that an earlier stream used goes on counting, so that waits for its marks stay satisfied.
    this.#marks = Atomics.load(words, this.#word + Line.passed);
  }

  /** Marks that have not settled, or commands that are not on the board yet: reasons to stay. */
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

  /** The number that the next mark will have. */
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

  /** Takes note of what the workers have done. True when there is still something that somebody waits for. */
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

  /** Asks the workers to say when this queue has moved on, also without a mark. False when it already has. */
  wantNews(): boolean {
    const { words } = this.#pool.board;
    Atomics.store(words, this.#word + Line.want, 1);
    return Atomics.load(words, this.#word + Line.head) !== this.#tail;
  }

  /** Everything unsettled fails. What commands hold is kept: a worker may still be inside one. */
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
    // Whoever ends the command before this one looks at `tail` again, so a busy queue needs no call.
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
