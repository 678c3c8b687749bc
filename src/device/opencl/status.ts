import { STATUS_WORDS } from '../../kernel/grid.js';
import { cutSlots, SLOT_BYTES, type SlotMemory, type StatusSlot } from '../gpu/status-slots.js';
import { addressOf } from '../native/libc.js';
import { CL, Out } from './api.js';
import type { Context } from './context.js';
import type { PinnedMemory } from './pinned.js';
import type { CommandQueue } from './queue.js';

const PAGE_SLOTS = 64;

/**
 * The memory of status slots. A GPU's slots lie in its memory and are fetched, with a mark, into page-locked words. On a
 * CPU kernels write the host's words themselves.
 */
export class StatusMemory implements SlotMemory<CommandQueue> {
  readonly #context: Context;
  readonly #pinned: PinnedMemory;
  readonly #out = new Out();
  readonly #handles: number[] = [];

  constructor(context: Context, pinned: PinnedMemory) {
    this.#context = context;
    this.#pinned = pinned;
  }

  page(): readonly StatusSlot[] {
    const { shares } = this.#context;
    const count = PAGE_SLOTS * STATUS_WORDS;
    const bytes = shares ? undefined : this.#pinned.alloc(4 * count)?.bytes;
    const words = bytes
      ? new Int32Array(bytes.buffer, bytes.byteOffset, count)
      : new Int32Array(new SharedArrayBuffer(4 * count));
    words.fill(shares ? 0 : 1); // a GPU's own words are not zero yet: `clear` sees to that
    return cutSlots(words, addressOf(words), (address) => this.#create(address));
  }

  clear({ words, device }: StatusSlot, queue: CommandQueue): void {
    words.fill(0);
    if (!this.#context.shares) this.#context.api.clReleaseEvent(queue.fill(device, 0, 0, SLOT_BYTES));
  }

  destroy(): void {
    for (const handle of this.#handles.splice(0)) this.#context.release(handle);
  }

  #create(address: number): number {
    const { api, errors, handle, shares } = this.#context;
    // SAFETY: the words stay referenced by the slot, which outlives the buffer.
    const memory = shares
      ? api.clCreateBuffer(handle, CL.MEM_READ_WRITE | CL.MEM_USE_HOST_PTR, SLOT_BYTES, address, this.#out.at)
      : api.clCreateBuffer(handle, CL.MEM_READ_WRITE, SLOT_BYTES, 0, this.#out.at);
    errors.check('clCreateBuffer', this.#out.int(), 'status words');
    this.#handles.push(memory);
    return memory;
  }
}
