import { STATUS_WORDS } from '../../../kernel/abi/grid.js';

/** Words that kernels write and this thread reads: the status of a program's launches, or the signal of a mark. */
export interface StatusSlot {
  readonly words: Int32Array;
  /** The address of `words` in this process. */
  readonly address: number;
  /** The value passed to kernels: the device's pointer, or a handle of the runtime. */
  readonly device: number;
}

export const SLOT_BYTES = STATUS_WORDS * 4;

/** The slots of a device. The code that takes a slot zeroes it if it was written, which is rare. */
export class StatusSlots {
  readonly #allocPage: () => readonly StatusSlot[];
  readonly #free: StatusSlot[] = [];
  /** Given back before their signal arrived. A late signal must not be mistaken for the next mark's. */
  #unsignalled: StatusSlot[] = [];

  /** `page` allocates a page of slots. */
  constructor(page: () => readonly StatusSlot[]) {
    this.#allocPage = page;
  }

  acquire(): StatusSlot {
    if (this.#free.length === 0) this.grow();
    return this.#free.pop() as StatusSlot;
  }

  /** Gives back a slot that nothing writes any more. */
  release(slot: StatusSlot): void {
    this.#free.push(slot);
  }

  /** Gives back a slot whose first word may still be set. */
  releaseSignal(slot: StatusSlot): void {
    this.#unsignalled.push(slot);
    if (this.#unsignalled.length < 64) return;
    this.#unsignalled = this.#unsignalled.filter((late) => {
      if (Atomics.load(late.words, 0) === 0) return true;
      this.#free.push(late);
      return false;
    });
  }

  /** Allocates another page of slots. */
  grow(): void {
    this.#free.push(...this.#allocPage());
  }
}

/**
 * Splits the words at `address` into slots, the last first. `device` converts a slot's address to the value passed to
 * kernels.
 */
export function splitSlots(words: Int32Array, address: number, device: (address: number) => number): StatusSlot[] {
  const count = words.length / STATUS_WORDS;
  return Array.from({ length: count }, (_, i) => {
    const first = (count - 1 - i) * STATUS_WORDS;
    const at = address + 4 * first;
    return { words: words.subarray(first, first + STATUS_WORDS), address: at, device: device(at) };
  });
}
