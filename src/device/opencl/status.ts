import { STATUS_WORDS } from '../../kernel/abi/grid.js';
import { OutParameters } from '../gpu/native/api.js';
import { SLOT_BYTES, type StatusSlot, splitSlots } from '../gpu/native/status-slots.js';
import type { PinnedMemory } from './pinned.js';
import { CL } from './runtime/api.js';
import type { Context } from './runtime/context.js';

const PAGE_SLOTS = 64;

/**
 * The memory of status slots. A GPU's slots are in its memory and are read, with a mark, into page-locked words. On a
 * CPU kernels write the host's words themselves.
 */
export class StatusMemory {
  readonly #context: Context;
  readonly #pinned: PinnedMemory;
  readonly #out = new OutParameters();
  readonly #handles: number[] = [];

  constructor(context: Context, pinned: PinnedMemory) {
    this.#context = context;
    this.#pinned = pinned;
  }

  page(): StatusSlot[] {
    const { bytes, address } = this.#pinned.alloc(PAGE_SLOTS * SLOT_BYTES);
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, PAGE_SLOTS * STATUS_WORDS);
    if (!this.#context.sharesHostMemory) words.fill(1); // a GPU's words are not zeroed yet: the taker of a slot clears it
    return splitSlots(words, address, (at) => this.#create(at));
  }

  destroy(): void {
    for (const handle of this.#handles.splice(0)) this.#context.release(handle);
  }

  #create(address: number): number {
    const { api, errors, handle, sharesHostMemory } = this.#context;
    // SAFETY: the words stay referenced by the slot, which outlives the buffer.
    const memory = sharesHostMemory
      ? api.clCreateBuffer(handle, CL.MEM_READ_WRITE | CL.MEM_USE_HOST_PTR, SLOT_BYTES, address, this.#out.address)
      : api.clCreateBuffer(handle, CL.MEM_READ_WRITE, SLOT_BYTES, 0, this.#out.address);
    errors.check('clCreateBuffer', this.#out.int(), 'status words');
    this.#handles.push(memory);
    return memory;
  }
}
