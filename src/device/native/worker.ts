import { boardOver, Command, Copy, Fill, Launch } from '../pool/board.js';
import type { Task } from '../pool/schedule/schedule.js';
import { type Executor, work } from '../pool/schedule/work.js';
import { inThread } from '../pool/threads/threads.js';
import { type Calls, loadCalls } from './calls.js';

/** A worker's start data. */
export interface WorkerStart {
  readonly memory: SharedArrayBuffer;
  readonly threads: number;
  /** The file of the addon that calls machine code (`calls.ts`). */
  readonly calls: string;
}

class NativeExecutor implements Executor {
  readonly #numbers: Float64Array;
  readonly #calls: Calls;

  constructor(numbers: Float64Array, calls: Calls) {
    this.#numbers = numbers;
    this.#calls = calls;
  }

  prepare(): void {}

  wordAt(address: number): number {
    // SAFETY: a word inside a buffer that the queued command holds.
    return this.#calls.word(address);
  }

  perform({ kind, slot, begin, end }: Task): number {
    const field = (at: number): number => this.#numbers[slot + at] ?? 0;
    switch (kind) {
      case Command.copy:
        // SAFETY: both ranges were checked when the command was queued (`launch.ts`) and are held until it is done.
        this.#calls.copy(field(Copy.to) + begin, field(Copy.from) + begin, end - begin);
        return end - begin;
      case Command.fill:
        // SAFETY: checked and held as for a copy.
        this.#calls.fill(field(Fill.to) + begin * 4, field(Fill.word), end - begin);
        return end - begin;
      default:
        // SAFETY: the code, the block and every buffer in it are held by the main thread until this command is done.
        return this.#calls.run(field(Launch.entry), field(Launch.block), begin, end);
    }
  }
}

inThread<WorkerStart>(({ memory, threads, calls }, ready) => {
  const board = boardOver(memory);
  const loaded = loadCalls(calls);
  ready();
  work(board, threads, new NativeExecutor(board.numbers, loaded));
});
