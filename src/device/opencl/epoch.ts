import { LINES } from '../gpu/board.js';
import { addressOf } from '../native/libc.js';
import { CL, Out } from './api.js';
import type { Context } from './context.js';
import type { Events } from './events.js';
import type { PinnedMemory } from './pinned.js';
import type { CommandQueue, Event } from './queue.js';

/** Where kernels look for a line's epoch: launches of another stop. */
export interface Epoch {
  readonly handle: number;
  /** The stream's epoch just now. */
  now(): number;
  /** It has moved on. */
  moved(epoch: number): void;
  /** Before a launch: the epochs that were sent are there before it looks. */
  before(queue: CommandQueue): void;
  release(): void;
}

/**
 * How epochs reach running kernels. On a CPU kernels read the board itself. A GPU's kernels read a word of its memory,
 * written through a queue of its own, which has nothing else to do and is not held up by what runs in others.
 */
export class Epochs {
  readonly #context: Context;
  readonly #events: Events;
  readonly #control: CommandQueue;
  readonly #board: Int32Array;
  readonly #out = new Out();
  /** What is written from, a word a line. */
  readonly #words: Int32Array;

  constructor(context: Context, events: Events, pinned: PinnedMemory, control: CommandQueue, board: Int32Array) {
    this.#context = context;
    this.#events = events;
    this.#control = control;
    this.#board = board;
    const bytes = context.shares ? undefined : pinned.alloc(LINES * 4)?.bytes;
    this.#words = bytes
      ? new Int32Array(bytes.buffer, bytes.byteOffset, LINES)
      : new Int32Array(new SharedArrayBuffer(LINES * 4));
  }

  /** `word` of the board is the line's epoch. */
  open(line: number, word: number, queue: CommandQueue): Epoch {
    return this.#context.shares ? this.#shared(word) : this.#written(line, word, queue);
  }

  #shared(word: number): Epoch {
    const board = this.#board;
    // SAFETY: 64 bytes of the board, which outlives the device, and in which nothing else lies; kernels only read them.
    const handle = this.#create(CL.MEM_USE_HOST_PTR, addressOf(board) + 4 * word);
    return {
      handle,
      now: () => Atomics.load(board, word),
      moved: () => undefined,
      before: () => undefined,
      release: () => this.#release(handle),
    };
  }

  #written(line: number, word: number, queue: CommandQueue): Epoch {
    const handle = this.#create(0, 0);
    const words = this.#words;
    const board = this.#board;
    const at = addressOf(words) + 4 * line;
    let pending: Event | undefined;
    const settle = (): void => {
      if (pending !== undefined) this.#events.release(pending);
      pending = undefined;
    };
    Atomics.store(words, line, Atomics.load(board, word));
    this.#events.release(queue.write(handle, 0, at, 4));
    return {
      handle,
      now: () => Atomics.load(board, word),
      moved: (epoch) => {
        // A write that is still under way then brings the later epoch: what it cancels too early is cancelled anyhow.
        Atomics.store(words, line, epoch);
        settle();
        pending = this.#control.write(handle, 0, at, 4);
        this.#control.flush();
      },
      before: (own) => {
        if (pending !== undefined) own.wait(pending);
        settle();
      },
      release: () => {
        settle();
        this.#release(handle);
      },
    };
  }

  #create(flags: number, host: number): number {
    const { api, errors, handle } = this.#context;
    const memory = api.clCreateBuffer(handle, CL.MEM_READ_WRITE | flags, EPOCH_BYTES, host, this.#out.at);
    errors.check('clCreateBuffer', this.#out.int(), "a stream's epoch");
    return memory;
  }

  #release(handle: number): void {
    this.#context.release(handle);
  }
}

const EPOCH_BYTES = 64;
