import { boardOver, Command, Copy, Fill, Launch } from '../pool/board.js';
import type { Task } from '../pool/schedule.js';
import { inThread } from '../pool/threads.js';
import { type Executor, work } from '../pool/work.js';
import { copyBytes, type Entry, entryAt, fillWords, wordAt } from './libc.js';

/** What a worker is started with. */
export interface WorkerStart {
  readonly memory: SharedArrayBuffer;
  readonly threads: number;
}

class NativeExecutor implements Executor {
  readonly #numbers: Float64Array;
  readonly #entries = new Map<number, Entry>();
  readonly wordAt = wordAt;

  constructor(numbers: Float64Array) {
    this.#numbers = numbers;
  }

  prepare(): void {}

  perform({ kind, slot, begin, end }: Task): number {
    const field = (at: number): number => this.#numbers[slot + at] ?? 0;
    switch (kind) {
      case Command.copy:
        copyBytes(field(Copy.to) + begin, field(Copy.from) + begin, end - begin);
        return end - begin;
      case Command.fill:
        fillWords(field(Fill.to) + begin * 4, field(Fill.word), end - begin);
        return end - begin;
      default: {
        const address = field(Launch.entry);
        let entry = this.#entries.get(address);
        if (entry === undefined) {
          entry = entryAt(address);
          this.#entries.set(address, entry);
        }
        // SAFETY: the block and every buffer it names are held by the main thread until this command is done.
        return Number(entry(field(Launch.block), begin, end));
      }
    }
  }
}

inThread<WorkerStart>(({ memory, threads }, ready) => {
  const board = boardOver(memory);
  ready();
  work(board, threads, new NativeExecutor(board.numbers));
});
