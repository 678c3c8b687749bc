import {
  type Board,
  Command,
  Copy,
  Fill,
  Launch,
  LINE_STARTED,
  Line,
  LineNumber,
  lineNumber,
  lineWord,
  Mark,
  Outcome,
  Pool,
  slotNumber,
  Wait,
} from '../board.js';
import { Rates } from './rates.js';
import { atStart, learn, nextSlice } from './slice.js';

/** A slice of the command at the head of a stream: a worker's task between two accesses to the board. */
export interface Task {
  kind: number;
  stream: number;
  /** The command's slot on the board. */
  slot: number;
  begin: number;
  end: number;
}

export const newTask = (): Task => ({ kind: 0, stream: 0, slot: 0, begin: 0, end: 0 });

/** Slice sizes of a copy, in bytes, and of a fill, in words. Both take under 1 ms, page faults included. */
const COPY_SLICE = 2 ** 20;
const FILL_SLICE = 2 ** 18;

/**
 * The workers' side of the board. The caller of every method holds the lock. The clock is a parameter so that a test
 * can simulate a whole pool in one thread.
 */
export class Schedule {
  readonly #board: Board;
  readonly #rates: Rates;
  readonly #threads: number;
  readonly #clock: () => bigint;
  readonly #wordAt: (address: number) => number;
  #passedMark = false;

  /** `clock` returns nanoseconds; `wordAt` reads a word of device memory, a launch's count. */
  constructor(board: Board, threads: number, clock: () => bigint, wordAt: (address: number) => number) {
    this.#board = board;
    this.#rates = new Rates(board);
    this.#threads = threads;
    this.#clock = clock;
    this.#wordAt = wordAt;
  }

  /**
   * Hands out the next slice, with streams in turn. Returns the number of further threads that have work now; -1 if
   * there is no work at all.
   */
  take(task: Task): number {
    const { words } = this.#board;
    const lines = words[Pool.lines] ?? 0;
    const turn = words[Pool.turn] ?? 0;
    let taken = -1;
    let ready: number;
    do {
      this.#passedMark = false;
      ready = 0;
      for (let step = 0; step < lines; step++) {
        const stream = (turn + step) % lines;
        while (this.#startNext(stream)) {
          if (taken >= 0) {
            if (stream !== taken) ready++;
            break;
          }
          if (this.#cut(stream, task)) taken = stream; // else the launch was cancelled, and the next command may be ready
        }
      }
    } while (this.#passedMark); // a stream visited earlier may have waited for that mark
    if (taken < 0) return -1;
    words[Pool.turn] = (taken + 1) % lines;
    return ready + this.#slicesLeft(taken, task);
  }

  /** Ends a slice: `finished` of its units were done in `nanoseconds`. */
  finish(task: Task, finished: number, nanoseconds: number): void {
    const { words, numbers } = this.#board;
    const word = lineWord(task.stream);
    const number = lineNumber(task.stream);
    const units = task.end - task.begin;
    words[word + Line.threads] = (words[word + Line.threads] ?? 0) - 1;
    numbers[number + LineNumber.finished] = (numbers[number + LineNumber.finished] ?? 0) + finished;
    if (finished < units) words[word + Line.short] = 1;
    else if (task.kind === Command.launch) this.#learn(task.slot, units, nanoseconds);
    this.#endWhenDone(task.stream, task.slot);
  }

  /** Passes commands that need no work and starts those that do. True if a slice can be cut from the stream's head. */
  #startNext(stream: number): boolean {
    const { words, numbers, bigs } = this.#board;
    const word = lineWord(stream);
    for (;;) {
      if (words[word + Line.running] === 1) return this.#hasSlices(stream);
      const head = words[word + Line.head] ?? 0;
      if (head === Atomics.load(words, word + Line.tail)) return false;
      const slot = slotNumber(stream, head);
      const kind = numbers[slot];
      if (kind === Command.wait) {
        const passed = words[lineWord(numbers[slot + Wait.stream] ?? 0) + Line.passed] ?? 0;
        if (((passed - (numbers[slot + Wait.mark] ?? 0)) | 0) < 0) return false;
      } else {
        const started = lineNumber(stream) + LINE_STARTED;
        if (bigs[started] === 0n) bigs[started] = this.#clock();
        if (kind === Command.mark) this.#passMark(stream, slot);
        else if (words[word + Line.failed] === 0 && this.#begin(stream, slot)) return true;
      }
      this.#advance(stream, head);
    }
  }

  /** Starts a command; false if it has no work. */
  #begin(stream: number, slot: number): boolean {
    const { words, numbers } = this.#board;
    const word = lineWord(stream);
    const number = lineNumber(stream);
    const total = this.#unitsOf(slot);
    if (total === 0) return false;
    if (numbers[slot] === Command.launch) {
      if (this.#cancelled(stream, slot)) {
        words[word + Line.incomplete] = 1;
        return false;
      }
      const program = numbers[slot + Launch.program] ?? 0;
      this.#rates.set(program, atStart(this.#rates.of(program)));
    }
    words[word + Line.running] = 1;
    words[word + Line.threads] = 0;
    words[word + Line.short] = 0;
    numbers[number + LineNumber.cursor] = 0;
    numbers[number + LineNumber.total] = total;
    numbers[number + LineNumber.finished] = 0;
    return true;
  }

  #unitsOf(slot: number): number {
    const { numbers } = this.#board;
    switch (numbers[slot]) {
      case Command.copy:
        return numbers[slot + Copy.bytes] ?? 0;
      case Command.fill:
        return numbers[slot + Fill.words] ?? 0;
      default: {
        const most = numbers[slot + Launch.count] ?? 0;
        const at = numbers[slot + Launch.countAt] ?? 0;
        return at === 0 ? most : Math.min(most, this.#wordAt(at));
      }
    }
  }

  #hasSlices(stream: number): boolean {
    const { words, numbers } = this.#board;
    const number = lineNumber(stream);
    if (words[lineWord(stream) + Line.short] === 1) return false;
    return (numbers[number + LineNumber.cursor] ?? 0) < (numbers[number + LineNumber.total] ?? 0);
  }

  /** Cuts a slice; false if the launch has been cancelled. */
  #cut(stream: number, task: Task): boolean {
    const { words, numbers } = this.#board;
    const word = lineWord(stream);
    const number = lineNumber(stream);
    const slot = slotNumber(stream, words[word + Line.head] ?? 0);
    if (numbers[slot] === Command.launch && this.#cancelled(stream, slot)) {
      words[word + Line.short] = 1;
      this.#endWhenDone(stream, slot);
      return false;
    }
    const begin = numbers[number + LineNumber.cursor] ?? 0;
    const remaining = (numbers[number + LineNumber.total] ?? 0) - begin;
    task.kind = numbers[slot] ?? 0;
    task.stream = stream;
    task.slot = slot;
    task.begin = begin;
    task.end = begin + this.#sliceOf(slot, remaining);
    numbers[number + LineNumber.cursor] = task.end;
    words[word + Line.threads] = (words[word + Line.threads] ?? 0) + 1;
    return true;
  }

  #sliceOf(slot: number, remaining: number): number {
    const { numbers } = this.#board;
    if (numbers[slot] === Command.copy) return Math.min(remaining, COPY_SLICE);
    if (numbers[slot] === Command.fill) return Math.min(remaining, FILL_SLICE);
    return nextSlice(
      this.#rates.of(numbers[slot + Launch.program] ?? 0),
      remaining,
      numbers[slot + Launch.lanes] ?? 1,
      this.#threads,
    );
  }

  #slicesLeft(stream: number, task: Task): number {
    const { numbers } = this.#board;
    const left = (numbers[lineNumber(stream) + LineNumber.total] ?? 0) - task.end;
    return Math.ceil(left / (task.end - task.begin));
  }

  #cancelled(stream: number, slot: number): boolean {
    const { words, numbers } = this.#board;
    return (Atomics.load(words, lineWord(stream) + Line.epoch) | 0) !== ((numbers[slot + Launch.epoch] ?? 0) | 0);
  }

  /** The last thread to leave a command that has no slices left ends it. */
  #endWhenDone(stream: number, slot: number): void {
    const { words, numbers } = this.#board;
    const word = lineWord(stream);
    const number = lineNumber(stream);
    if ((words[word + Line.threads] ?? 0) > 0 || this.#hasSlices(stream)) return;
    if ((numbers[number + LineNumber.finished] ?? 0) < (numbers[number + LineNumber.total] ?? 0)) {
      words[word + Line.incomplete] = 1;
    }
    if (Atomics.load(words, word + Line.trap) !== 0) {
      words[word + Line.failed] = numbers[slot + Launch.program] ?? 0;
    }
    words[word + Line.running] = 0;
    this.#advance(stream, words[word + Line.head] ?? 0);
  }

  /** Writes the outcome since the last mark into the mark's slot and resets it. */
  #passMark(stream: number, slot: number): void {
    const { words, numbers, bigs } = this.#board;
    const word = lineWord(stream);
    const failed = words[word + Line.failed] ?? 0;
    const started = lineNumber(stream) + LINE_STARTED;
    const wide = (at: number): number => ((words[at] ?? 0) >>> 0) + ((words[at + 1] ?? 0) >>> 0) * 2 ** 32;
    bigs[slot + Mark.started] = bigs[started] ?? 0n;
    bigs[slot + Mark.ended] = this.#clock();
    numbers[slot + Mark.outcome] =
      failed !== 0 ? Outcome.trapped : words[word + Line.incomplete] === 1 ? Outcome.incomplete : Outcome.complete;
    if (failed !== 0) {
      numbers[slot + Mark.program] = failed;
      numbers[slot + Mark.site] = (words[word + Line.trapSite] ?? 0) >>> 0;
      numbers[slot + Mark.index] = wide(word + Line.trapIndex);
      numbers[slot + Mark.length] = wide(word + Line.trapLength);
      for (let at = Line.trap; at < Line.trapLength + 2; at++) Atomics.store(words, word + at, 0);
    }
    this.#passedMark = true;
    bigs[started] = 0n;
    words[word + Line.failed] = 0;
    words[word + Line.incomplete] = 0;
    words[word + Line.passed] = ((words[word + Line.passed] ?? 0) + 1) | 0;
  }

  #advance(stream: number, head: number): void {
    const { words, numbers } = this.#board;
    const word = lineWord(stream);
    const next = (head + 1) | 0;
    const wasMark = numbers[slotNumber(stream, head)] === Command.mark;
    Atomics.store(words, word + Line.head, next);
    // The main thread is notified of free slots or an empty queue at the queue's end or every 64 commands, not for each
    // one.
    const told = wasMark || next === Atomics.load(words, word + Line.tail) || (next & 63) === 0;
    if (!told) return;
    if (Atomics.exchange(words, word + Line.want, 0) === 0 && !wasMark) return;
    Atomics.add(words, Pool.news, 1);
    Atomics.notify(words, Pool.news);
  }

  #learn(slot: number, units: number, nanoseconds: number): void {
    const program = this.#board.numbers[slot + Launch.program] ?? 0;
    this.#rates.set(program, learn(this.#rates.of(program), units, nanoseconds));
  }
}
