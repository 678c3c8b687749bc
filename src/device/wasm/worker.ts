import { BEYOND_MEMORY } from '../checks/traps.js';
import { type Board, boardOver, Command, Copy, Fill, Launch, Line, lineWord } from '../pool/board.js';
import type { Task } from '../pool/schedule/schedule.js';
import { type Executor, work } from '../pool/schedule/work.js';
import { collectGarbage } from '../pool/threads/collect.js';
import { inThread } from '../pool/threads/threads.js';
import { api, type Memory } from './api.js';
import { CLOSED_WORDS, ClosedPrograms } from './closed-programs.js';
import { BOARD_AT } from './memory.js';
import { RECORD_WORDS, type WorkerStart } from './start.js';

/** How many programs are dropped between garbage collections. */
const COLLECT_FROM = 32;

type Run = (launch: number, begin: bigint, end: bigint) => bigint;

class WasmExecutor implements Executor {
  readonly #memory: Memory;
  readonly #index: number;
  readonly #board: Board;
  /** Keyed by number, because addresses are reused. */
  readonly #programs = new Map<number, Run>();
  readonly #closed: ClosedPrograms;
  /** Programs dropped since the last garbage collection. */
  #dropped = 0;

  constructor({ memory, index, closedAt }: WorkerStart, board: Board) {
    this.#memory = memory;
    this.#index = index;
    this.#board = board;
    this.#closed = new ClosedPrograms(new Int32Array(memory.buffer, closedAt, CLOSED_WORDS));
  }

  /** The first slice of a program on this thread creates its instance; the engine has compiled the module already. */
  prepare({ kind, slot }: Task): void {
    if (kind !== Command.launch) return;
    this.#tidy();
    const number = this.#field(slot, Launch.program);
    if (this.#programs.has(number)) return;
    this.#programs.set(number, this.#instance(this.#field(slot, Launch.entry)));
  }

  #tidy(): void {
    this.#dropped += this.#closed.dropFrom(this.#programs);
    if (this.#dropped < COLLECT_FROM) return;
    this.#dropped = 0;
    collectGarbage();
  }

  perform(task: Task): number {
    const { kind, slot, begin, end } = task;
    switch (kind) {
      case Command.copy: {
        const [to, from] = [this.#field(slot, Copy.to), this.#field(slot, Copy.from)];
        new Uint8Array(this.#memory.buffer).copyWithin(to + begin, from + begin, from + end);
        return end - begin;
      }
      case Command.fill: {
        const to = this.#field(slot, Fill.to) + begin * 4;
        new Uint32Array(this.#memory.buffer, to, end - begin).fill(this.#field(slot, Fill.word));
        return end - begin;
      }
      default:
        return this.#launch(task);
    }
  }

  wordAt(address: number): number {
    return Atomics.load(new Uint32Array(this.#memory.buffer, address, 1), 0);
  }

  #launch({ stream, slot, begin, end }: Task): number {
    const run = this.#programs.get(this.#field(slot, Launch.program));
    try {
      return Number(run?.(this.#field(slot, Launch.block), BigInt(begin), BigInt(end)));
    } catch (error) {
      if (!(error instanceof api.RuntimeError)) throw error;
      this.#note(stream);
      return 0;
    }
  }

  /** An access outside all memory ends the slice; it is reported like one that a checked build finds. */
  #note(stream: number): void {
    const { words } = this.#board;
    const line = lineWord(stream);
    if (Atomics.compareExchange(words, line + Line.trap, 0, 1) === 0)
      Atomics.store(words, line + Line.trapSite, BEYOND_MEMORY | 0);
  }

  #instance(record: number): Run {
    const words = new Uint32Array(this.#memory.buffer, record, RECORD_WORDS);
    const [at = 0, length = 0, constantsAt = 0, nearAt = 0, perThread = 0] = words;
    // A copy: modules cannot be created from shared memory. The same bytes give the code that the main thread compiled.
    const module = new api.Module(new Uint8Array(this.#memory.buffer, at, length).slice());
    const constants = new api.Global({ value: 'i32', mutable: false }, constantsAt);
    const near = new api.Global({ value: 'i32', mutable: false }, nearAt + this.#index * perThread);
    const { exports } = new api.Instance(module, { millrace: { memory: this.#memory, constants, near } });
    return exports.run as Run;
  }

  #field(slot: number, at: number): number {
    return this.#board.numbers[slot + at] ?? 0;
  }
}

inThread<WorkerStart>((start, ready) => {
  const board = boardOver(start.memory.buffer, BOARD_AT);
  ready();
  work(board, start.threads, new WasmExecutor(start, board));
});
