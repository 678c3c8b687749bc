import { STATUS_WORDS } from '../../kernel/grid.js';
import { addressOf } from '../native/libc.js';
import { CL, Out } from './api.js';
import type { Context } from './context.js';
import type { PinnedMemory } from './pinned.js';
import type { CommandQueue } from './queue.js';

/** Where the launches of one program report between two marks. */
export interface Cell {
  /** As kernels see it. */
  readonly handle: number;
  /** As the host sees it once it has been fetched. */
  readonly words: Int32Array;
  readonly address: number;
}

export const CELL_BYTES = STATUS_WORDS * 4;
const PAGE_CELLS = 64;

/**
 * Status words. A GPU's cells lie in its memory and are fetched, with a mark, into page-locked words; on a CPU kernels
 * write the host's words themselves. A cell is zeroed only after something was written into it, which is rare.
 */
export class Cells {
  readonly #context: Context;
  readonly #pinned: PinnedMemory;
  readonly #out = new Out();
  readonly #free: Cell[] = [];
  readonly #all: Cell[] = [];

  constructor(context: Context, pinned: PinnedMemory) {
    this.#context = context;
    this.#pinned = pinned;
  }

  /** Zero for the kernels that the queue launches from now on. */
  take(queue: CommandQueue): Cell {
    const cell = this.#free.pop();
    if (cell === undefined) {
      this.#grow();
      return this.take(queue);
    }
    if (cell.words.some((word) => word !== 0)) this.#zero(cell, queue);
    return cell;
  }

  /** Nothing writes it any more. */
  give(cell: Cell): void {
    this.#free.push(cell);
  }

  /** True where kernels write the host's own words. */
  get direct(): boolean {
    return this.#context.shares;
  }

  destroy(): void {
    for (const { handle } of this.#all) this.#context.release(handle);
    this.#all.length = 0;
    this.#free.length = 0;
  }

  #zero({ words, handle }: Cell, queue: CommandQueue): void {
    words.fill(0);
    if (!this.direct) this.#context.api.clReleaseEvent(queue.fill(handle, 0, 0, CELL_BYTES));
  }

  #grow(): void {
    const words = this.#page();
    const at = addressOf(words);
    for (let i = PAGE_CELLS - 1; i >= 0; i--) {
      const own = words.subarray(i * STATUS_WORDS, (i + 1) * STATUS_WORDS);
      own.fill(this.direct ? 0 : 1); // a GPU's own is not zero yet: `take` sees to that
      const address = at + i * CELL_BYTES;
      const cell = { handle: this.#create(address), words: own, address };
      this.#free.push(cell);
      this.#all.push(cell);
    }
  }

  #page(): Int32Array {
    const bytes = PAGE_CELLS * CELL_BYTES;
    const pinned = this.direct ? undefined : this.#pinned.alloc(bytes);
    if (pinned) return new Int32Array(pinned.bytes.buffer, pinned.bytes.byteOffset, bytes / 4);
    return new Int32Array(new SharedArrayBuffer(bytes));
  }

  #create(address: number): number {
    const { api, errors, handle } = this.#context;
    // SAFETY: the words stay referenced by the cell, which outlives the buffer.
    const memory = this.direct
      ? api.clCreateBuffer(handle, CL.MEM_READ_WRITE | CL.MEM_USE_HOST_PTR, CELL_BYTES, address, this.#out.at)
      : api.clCreateBuffer(handle, CL.MEM_READ_WRITE, CELL_BYTES, 0, this.#out.at);
    errors.check('clCreateBuffer', this.#out.int(), 'status words');
    return memory;
  }
}
