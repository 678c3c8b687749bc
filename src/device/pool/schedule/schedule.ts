import {
  CommandKind,
  CopyField,
  FillField,
  LaunchField,
  MarkField,
  Outcome,
  type PoolBoard,
  PoolWord,
  STREAM_STARTED,
  StreamDouble,
  StreamWord,
  slotOffset,
  streamDoubleOffset,
  streamWordOffset,
  WaitField,
} from '../board.js';
import { ProgramRates } from './rates.js';
import { atLaunchStart, nextSlice, updatedRate } from './slice.js';

/** A slice of the command at the head of a stream: a worker's task between two accesses to the board. */
export interface SliceTask {
  kind: number;
  stream: number;
  /** The command's slot on the board. */
  slot: number;
  begin: number;
  end: number;
}

export const newSliceTask = (): SliceTask => ({ kind: 0, stream: 0, slot: 0, begin: 0, end: 0 });

/** Slice sizes of a copy, in bytes, and of a fill, in words. Both take under 1 ms, page faults included. */
const COPY_SLICE = 2 ** 20;
const FILL_SLICE = 2 ** 18;

/**
 * The workers' side of the board. The caller of every method holds the lock. The clock is a parameter so that a test
 * can simulate a whole pool in one thread.
 */
export class SliceScheduler {
  readonly #board: PoolBoard;
  readonly #rates: ProgramRates;
  readonly #threads: number;
  readonly #clock: () => bigint;
  readonly #wordAt: (address: number) => number;
  #hasPassedMark = false;

  /** `clock` returns nanoseconds; `wordAt` reads a word of device memory, a launch's count. */
  constructor(board: PoolBoard, threads: number, clock: () => bigint, wordAt: (address: number) => number) {
    this.#board = board;
    this.#rates = new ProgramRates(board);
    this.#threads = threads;
    this.#clock = clock;
    this.#wordAt = wordAt;
  }

  /**
   * Hands out the next slice, with streams in turn. Returns the number of further threads that have work now; -1 if
   * there is no work at all.
   */
  takeSlice(task: SliceTask): number {
    const { words } = this.#board;
    const lines = words[PoolWord.streams] ?? 0;
    const turn = words[PoolWord.nextStream] ?? 0;
    let taken = -1;
    let ready: number;
    do {
      this.#hasPassedMark = false;
      ready = 0;
      for (let step = 0; step < lines; step++) {
        const stream = (turn + step) % lines;
        while (this.#startNextCommand(stream)) {
          if (taken >= 0) {
            if (stream !== taken) ready++;
            break;
          }
          if (this.#cutSlice(stream, task)) taken = stream; // else the launch was cancelled, and the next command may be ready
        }
      }
    } while (this.#hasPassedMark); // a stream visited earlier may have waited for that mark
    if (taken < 0) return -1;
    words[PoolWord.nextStream] = (taken + 1) % lines;
    return ready + this.#slicesLeft(taken, task);
  }

  /** Ends a slice: `finished` of its units were done in `nanoseconds`. */
  finishSlice(task: SliceTask, finished: number, nanoseconds: number): void {
    const { words, doubles } = this.#board;
    const word = streamWordOffset(task.stream);
    const number = streamDoubleOffset(task.stream);
    const units = task.end - task.begin;
    words[word + StreamWord.threads] = (words[word + StreamWord.threads] ?? 0) - 1;
    doubles[number + StreamDouble.finished] = (doubles[number + StreamDouble.finished] ?? 0) + finished;
    if (finished < units) words[word + StreamWord.cutShort] = 1;
    else if (task.kind === CommandKind.launch) this.#updateRate(task.slot, units, nanoseconds);
    this.#endIfDone(task.stream, task.slot);
  }

  /** Completes commands that need no work and starts those that do. True if a slice can be cut from the stream's head. */
  #startNextCommand(stream: number): boolean {
    const { words, doubles, bigints } = this.#board;
    const word = streamWordOffset(stream);
    for (;;) {
      if (words[word + StreamWord.running] === 1) return this.#hasSlices(stream);
      const head = words[word + StreamWord.head] ?? 0;
      if (head === Atomics.load(words, word + StreamWord.tail)) return false;
      const slot = slotOffset(stream, head);
      const kind = doubles[slot];
      if (kind === CommandKind.wait) {
        const passed = words[streamWordOffset(doubles[slot + WaitField.stream] ?? 0) + StreamWord.marksPassed] ?? 0;
        if (((passed - (doubles[slot + WaitField.mark] ?? 0)) | 0) < 0) return false;
      } else {
        const started = streamDoubleOffset(stream) + STREAM_STARTED;
        if (bigints[started] === 0n) bigints[started] = this.#clock();
        if (kind === CommandKind.mark) this.#passMark(stream, slot);
        else if (words[word + StreamWord.failedProgram] === 0 && this.#startCommand(stream, slot)) return true;
      }
      this.#advance(stream, head);
    }
  }

  /** Starts a command; false if it has no work. */
  #startCommand(stream: number, slot: number): boolean {
    const { words, doubles } = this.#board;
    const word = streamWordOffset(stream);
    const number = streamDoubleOffset(stream);
    const total = this.#unitsOf(slot);
    if (total === 0) return false;
    if (doubles[slot] === CommandKind.launch) {
      if (this.#isCancelled(stream, slot)) {
        words[word + StreamWord.incomplete] = 1;
        return false;
      }
      const program = doubles[slot + LaunchField.program] ?? 0;
      this.#rates.set(program, atLaunchStart(this.#rates.get(program)));
    }
    words[word + StreamWord.running] = 1;
    words[word + StreamWord.threads] = 0;
    words[word + StreamWord.cutShort] = 0;
    doubles[number + StreamDouble.cursor] = 0;
    doubles[number + StreamDouble.total] = total;
    doubles[number + StreamDouble.finished] = 0;
    return true;
  }

  #unitsOf(slot: number): number {
    const { doubles } = this.#board;
    switch (doubles[slot]) {
      case CommandKind.copy:
        return doubles[slot + CopyField.bytes] ?? 0;
      case CommandKind.fill:
        return doubles[slot + FillField.words] ?? 0;
      default: {
        const max = doubles[slot + LaunchField.count] ?? 0;
        const at = doubles[slot + LaunchField.countAt] ?? 0;
        return at === 0 ? max : Math.min(max, this.#wordAt(at));
      }
    }
  }

  #hasSlices(stream: number): boolean {
    const { words, doubles } = this.#board;
    const number = streamDoubleOffset(stream);
    if (words[streamWordOffset(stream) + StreamWord.cutShort] === 1) return false;
    return (doubles[number + StreamDouble.cursor] ?? 0) < (doubles[number + StreamDouble.total] ?? 0);
  }

  /** Cuts a slice; false if the launch has been cancelled. */
  #cutSlice(stream: number, task: SliceTask): boolean {
    const { words, doubles } = this.#board;
    const word = streamWordOffset(stream);
    const number = streamDoubleOffset(stream);
    const slot = slotOffset(stream, words[word + StreamWord.head] ?? 0);
    if (doubles[slot] === CommandKind.launch && this.#isCancelled(stream, slot)) {
      words[word + StreamWord.cutShort] = 1;
      this.#endIfDone(stream, slot);
      return false;
    }
    const begin = doubles[number + StreamDouble.cursor] ?? 0;
    const remaining = (doubles[number + StreamDouble.total] ?? 0) - begin;
    task.kind = doubles[slot] ?? 0;
    task.stream = stream;
    task.slot = slot;
    task.begin = begin;
    task.end = begin + this.#sliceSize(slot, remaining);
    doubles[number + StreamDouble.cursor] = task.end;
    words[word + StreamWord.threads] = (words[word + StreamWord.threads] ?? 0) + 1;
    return true;
  }

  #sliceSize(slot: number, remaining: number): number {
    const { doubles } = this.#board;
    if (doubles[slot] === CommandKind.copy) return Math.min(remaining, COPY_SLICE);
    if (doubles[slot] === CommandKind.fill) return Math.min(remaining, FILL_SLICE);
    return nextSlice(
      this.#rates.get(doubles[slot + LaunchField.program] ?? 0),
      remaining,
      doubles[slot + LaunchField.lanes] ?? 1,
      this.#threads,
    );
  }

  #slicesLeft(stream: number, task: SliceTask): number {
    const { doubles } = this.#board;
    const left = (doubles[streamDoubleOffset(stream) + StreamDouble.total] ?? 0) - task.end;
    return Math.ceil(left / (task.end - task.begin));
  }

  #isCancelled(stream: number, slot: number): boolean {
    const { words, doubles } = this.#board;
    return (
      (Atomics.load(words, streamWordOffset(stream) + StreamWord.epoch) | 0) !==
      ((doubles[slot + LaunchField.epoch] ?? 0) | 0)
    );
  }

  /** The last thread to leave a command that has no slices left ends it. */
  #endIfDone(stream: number, slot: number): void {
    const { words, doubles } = this.#board;
    const word = streamWordOffset(stream);
    const number = streamDoubleOffset(stream);
    if ((words[word + StreamWord.threads] ?? 0) > 0 || this.#hasSlices(stream)) return;
    if ((doubles[number + StreamDouble.finished] ?? 0) < (doubles[number + StreamDouble.total] ?? 0)) {
      words[word + StreamWord.incomplete] = 1;
    }
    if (Atomics.load(words, word + StreamWord.trap) !== 0) {
      words[word + StreamWord.failedProgram] = doubles[slot + LaunchField.program] ?? 0;
    }
    words[word + StreamWord.running] = 0;
    this.#advance(stream, words[word + StreamWord.head] ?? 0);
  }

  /** Writes the outcome since the last mark into the mark's slot and resets it. */
  #passMark(stream: number, slot: number): void {
    const { words, doubles, bigints } = this.#board;
    const word = streamWordOffset(stream);
    const failed = words[word + StreamWord.failedProgram] ?? 0;
    const started = streamDoubleOffset(stream) + STREAM_STARTED;
    const readU64 = (at: number): number => ((words[at] ?? 0) >>> 0) + ((words[at + 1] ?? 0) >>> 0) * 2 ** 32;
    bigints[slot + MarkField.started] = bigints[started] ?? 0n;
    bigints[slot + MarkField.ended] = this.#clock();
    doubles[slot + MarkField.outcome] =
      failed !== 0
        ? Outcome.trapped
        : words[word + StreamWord.incomplete] === 1
          ? Outcome.incomplete
          : Outcome.complete;
    if (failed !== 0) {
      doubles[slot + MarkField.program] = failed;
      doubles[slot + MarkField.site] = (words[word + StreamWord.trapSite] ?? 0) >>> 0;
      doubles[slot + MarkField.index] = readU64(word + StreamWord.trapIndex);
      doubles[slot + MarkField.length] = readU64(word + StreamWord.trapLength);
      for (let at = StreamWord.trap; at < StreamWord.trapLength + 2; at++) Atomics.store(words, word + at, 0);
    }
    this.#hasPassedMark = true;
    bigints[started] = 0n;
    words[word + StreamWord.failedProgram] = 0;
    words[word + StreamWord.incomplete] = 0;
    words[word + StreamWord.marksPassed] = ((words[word + StreamWord.marksPassed] ?? 0) + 1) | 0;
  }

  #advance(stream: number, head: number): void {
    const { words, doubles } = this.#board;
    const word = streamWordOffset(stream);
    const next = (head + 1) | 0;
    const wasMark = doubles[slotOffset(stream, head)] === CommandKind.mark;
    Atomics.store(words, word + StreamWord.head, next);
    // The main thread is notified of free slots or an empty queue at the queue's end or every 64 commands, not for each
    // one.
    const mayNotify = wasMark || next === Atomics.load(words, word + StreamWord.tail) || (next & 63) === 0;
    if (!mayNotify) return;
    if (Atomics.exchange(words, word + StreamWord.notifyMain, 0) === 0 && !wasMark) return;
    Atomics.add(words, PoolWord.mainSignal, 1);
    Atomics.notify(words, PoolWord.mainSignal);
  }

  #updateRate(slot: number, units: number, nanoseconds: number): void {
    const program = this.#board.doubles[slot + LaunchField.program] ?? 0;
    this.#rates.set(program, updatedRate(this.#rates.get(program), units, nanoseconds));
  }
}
