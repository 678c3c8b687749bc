import { CommandKind, CopyField, FillField, LaunchField, mapBoard } from '../pool/board.js';
import type { SliceTask } from '../pool/schedule/schedule.js';
import { type Executor, runWorker } from '../pool/schedule/work.js';
import { runInThread } from '../pool/threads/threads.js';
import { loadCalls, type NativeCalls } from './calls.js';

/** A worker's start data. */
export interface NativeWorkerStart {
  readonly memory: SharedArrayBuffer;
  readonly threads: number;
  /** The file of the addon that calls machine code (`calls.ts`). */
  readonly calls: string;
}

class NativeExecutor implements Executor {
  readonly #numbers: Float64Array;
  readonly #calls: NativeCalls;

  constructor(numbers: Float64Array, calls: NativeCalls) {
    this.#numbers = numbers;
    this.#calls = calls;
  }

  prepare(): void {}

  wordAt(address: number): number {
    // SAFETY: a word inside a buffer that the queued command holds.
    return this.#calls.word(address);
  }

  perform({ kind, slot, begin, end }: SliceTask): number {
    const field = (at: number): number => this.#numbers[slot + at] ?? 0;
    switch (kind) {
      case CommandKind.copy:
        // SAFETY: both ranges were checked when the command was queued (`launch.ts`) and are held until it is done.
        this.#calls.copy(field(CopyField.to) + begin, field(CopyField.from) + begin, end - begin);
        return end - begin;
      case CommandKind.fill:
        // SAFETY: checked and held as for a copy.
        this.#calls.fill(field(FillField.to) + begin * 4, field(FillField.word), end - begin);
        return end - begin;
      default:
        // SAFETY: the code, the block and every buffer in it are held by the main thread until this command is done.
        return this.#calls.run(field(LaunchField.entry), field(LaunchField.block), begin, end);
    }
  }
}

runInThread<NativeWorkerStart>(({ memory, threads, calls }, ready) => {
  const board = mapBoard(memory);
  const loaded = loadCalls(calls);
  ready();
  runWorker(board, threads, new NativeExecutor(board.doubles, loaded));
});
