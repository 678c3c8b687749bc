import { BEYOND_MEMORY } from '../checks/traps.js';
import {
  CommandKind,
  CopyField,
  FillField,
  LaunchField,
  mapBoard,
  type PoolBoard,
  StreamWord,
  streamWordOffset,
} from '../pool/board.js';
import type { SliceTask } from '../pool/schedule/schedule.js';
import { type Executor, runWorker } from '../pool/schedule/work.js';
import { collectGarbage } from '../pool/threads/collect.js';
import { runInThread } from '../pool/threads/threads.js';
import { api, type WasmMemory } from './api.js';
import { CLOSED_WORDS, ClosedPrograms } from './closed-programs.js';
import { BOARD_ADDRESS } from './memory.js';
import { RECORD_WORDS, type WasmWorkerStart } from './start.js';

/** How many programs are dropped between garbage collections. */
const COLLECT_AFTER = 32;

type RunFunction = (launch: number, begin: bigint, end: bigint) => bigint;

class WasmExecutor implements Executor {
  readonly #memory: WasmMemory;
  readonly #index: number;
  readonly #board: PoolBoard;
  /** Keyed by number, because addresses are reused. */
  readonly #programs = new Map<number, RunFunction>();
  readonly #closed: ClosedPrograms;
  /** Programs dropped since the last garbage collection. */
  #dropped = 0;

  constructor({ memory, index, closedAddress }: WasmWorkerStart, board: PoolBoard) {
    this.#memory = memory;
    this.#index = index;
    this.#board = board;
    this.#closed = new ClosedPrograms(new Int32Array(memory.buffer, closedAddress, CLOSED_WORDS));
  }

  /** The first slice of a program on this thread creates its instance; the engine has compiled the module already. */
  prepare({ kind, slot }: SliceTask): void {
    if (kind !== CommandKind.launch) return;
    this.#dropClosed();
    const number = this.#field(slot, LaunchField.program);
    if (this.#programs.has(number)) return;
    this.#programs.set(number, this.#instantiate(this.#field(slot, LaunchField.entry)));
  }

  #dropClosed(): void {
    this.#dropped += this.#closed.dropFrom(this.#programs);
    if (this.#dropped < COLLECT_AFTER) return;
    this.#dropped = 0;
    collectGarbage();
  }

  perform(task: SliceTask): number {
    const { kind, slot, begin, end } = task;
    switch (kind) {
      case CommandKind.copy: {
        const [to, from] = [this.#field(slot, CopyField.to), this.#field(slot, CopyField.from)];
        new Uint8Array(this.#memory.buffer).copyWithin(to + begin, from + begin, from + end);
        return end - begin;
      }
      case CommandKind.fill: {
        const to = this.#field(slot, FillField.to) + begin * 4;
        new Uint32Array(this.#memory.buffer, to, end - begin).fill(this.#field(slot, FillField.word));
        return end - begin;
      }
      default:
        return this.#launch(task);
    }
  }

  wordAt(address: number): number {
    return Atomics.load(new Uint32Array(this.#memory.buffer, address, 1), 0);
  }

  #launch({ stream, slot, begin, end }: SliceTask): number {
    const run = this.#programs.get(this.#field(slot, LaunchField.program));
    try {
      return Number(run?.(this.#field(slot, LaunchField.block), BigInt(begin), BigInt(end)));
    } catch (error) {
      if (!(error instanceof api.RuntimeError)) throw error;
      this.#recordTrap(stream);
      return 0;
    }
  }

  /** An access outside all memory ends the slice; it is reported like one that a checked build finds. */
  #recordTrap(stream: number): void {
    const { words } = this.#board;
    const line = streamWordOffset(stream);
    if (Atomics.compareExchange(words, line + StreamWord.trap, 0, 1) === 0)
      Atomics.store(words, line + StreamWord.trapSite, BEYOND_MEMORY | 0);
  }

  #instantiate(record: number): RunFunction {
    const words = new Uint32Array(this.#memory.buffer, record, RECORD_WORDS);
    const [at = 0, length = 0, constantsAt = 0, nearAt = 0, perThread = 0] = words;
    // A copy: modules cannot be created from shared memory. The same bytes give the code that the main thread compiled.
    const module = new api.Module(new Uint8Array(this.#memory.buffer, at, length).slice());
    const constants = new api.Global({ value: 'i32', mutable: false }, constantsAt);
    const near = new api.Global({ value: 'i32', mutable: false }, nearAt + this.#index * perThread);
    const { exports } = new api.Instance(module, { millrace: { memory: this.#memory, constants, near } });
    return exports.run as RunFunction;
  }

  #field(slot: number, at: number): number {
    return this.#board.doubles[slot + at] ?? 0;
  }
}

runInThread<WasmWorkerStart>((start, ready) => {
  const board = mapBoard(start.memory.buffer, BOARD_ADDRESS);
  ready();
  runWorker(board, start.threads, new WasmExecutor(start, board));
});
