import { OutParameters } from '../gpu/native/api.js';
import { Epoch } from '../gpu/native/epoch.js';
import { LINES } from '../gpu/wire/board.js';
import { addressOf } from '../native/libc.js';
import type { Events } from './events.js';
import type { PinnedMemory } from './pinned.js';
import type { CommandQueue, Event } from './queue.js';
import { CL } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/**
 * Sends epochs to running kernels. On a CPU kernels read the board itself. A GPU's kernels read a word of its memory,
 * written through a separate queue, which has no other work and is not delayed by other queues.
 */
export class Epochs {
  readonly #context: Context;
  readonly #events: Events;
  readonly #control: CommandQueue;
  readonly #board: Int32Array;
  readonly #out = new OutParameters();
  /** The source of the writes, one word per line. */
  readonly #words: Int32Array;

  constructor(context: Context, events: Events, pinned: PinnedMemory, control: CommandQueue, board: Int32Array) {
    this.#context = context;
    this.#events = events;
    this.#control = control;
    this.#board = board;
    const { bytes } = pinned.alloc(LINES * 4);
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, LINES);
  }

  /** `word` is the index of the line's epoch on the board. */
  open(line: number, word: number, queue: CommandQueue): Epoch<CommandQueue> {
    return this.#context.sharesHostMemory ? this.#shared(word) : this.#written(line, word, queue);
  }

  #shared(word: number): Epoch<CommandQueue> {
    // SAFETY: 64 bytes of the board, which outlives the device, with nothing else in them; kernels only read them.
    const device = this.#create(CL.MEM_USE_HOST_PTR, addressOf(this.#board) + 4 * word);
    return new Epoch(device, this.#board, word, undefined, () => this.#context.release(device));
  }

  #written(line: number, word: number, queue: CommandQueue): Epoch<CommandQueue> {
    const device = this.#create(0, 0);
    const source = this.#words.subarray(line, line + 1);
    const at = addressOf(source);
    const control = this.#control;
    let pending: Event | undefined;
    const settle = (): void => {
      if (pending !== undefined) this.#events.release(pending);
      pending = undefined;
    };
    Atomics.store(source, 0, Atomics.load(this.#board, word));
    this.#events.release(queue.write(device, 0, at, 4));
    const channel = {
      source,
      send: (): void => {
        settle();
        pending = control.write(device, 0, at, 4);
        control.flush();
      },
      delay: (own: CommandQueue): void => {
        if (pending !== undefined) own.wait(pending);
        settle();
      },
    };
    return new Epoch(device, this.#board, word, channel, () => {
      settle();
      this.#context.release(device);
    });
  }

  #create(flags: number, host: number): number {
    const { api, errors, handle } = this.#context;
    const memory = api.clCreateBuffer(handle, CL.MEM_READ_WRITE | flags, EPOCH_BYTES, host, this.#out.address);
    errors.check('clCreateBuffer', this.#out.int(), "a stream's epoch");
    return memory;
  }
}

const EPOCH_BYTES = 64;
