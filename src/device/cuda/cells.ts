import { STATUS_WORDS } from '../../kernel/grid.js';
import type { Pinned } from './pinned.js';

/** A few words that the GPU writes and this thread reads, without a copy: a launch's status, a mark's signal. */
export interface Cell {
  readonly words: Int32Array;
  /** Where the GPU, and where native code of this process finds them. */
  readonly device: number;
  readonly address: number;
}

const CELL_BYTES = STATUS_WORDS * 4;
/** Cells that are made at a time: 512 of them, in 16 KiB. */
const PAGE_BYTES = 2 ** 14;

/** Cells of mapped page-locked memory. Taken zeroed; given back when nothing writes them any more. */
export class Cells {
  readonly #more: (bytes: number) => Pinned;
  readonly #free: Cell[] = [];
  /** Given back, but whoever signals them has not done so yet: a late one must not look like another's. */
  #late: Cell[] = [];

  constructor(more: (bytes: number) => Pinned) {
    this.#more = more;
    this.#free.push(this.#grow()); // now, so that the first launch need not
  }

  take(): Cell {
    const cell = this.#free.pop() ?? this.#grow();
    cell.words.fill(0);
    return cell;
  }

  give(cell: Cell): void {
    this.#free.push(cell);
  }

  /** Gives back a cell whose first word may still be set. */
  giveSignal(cell: Cell): void {
    this.#late.push(cell);
    if (this.#late.length < 64) return;
    this.#late = this.#late.filter((late) => {
      if (Atomics.load(late.words, 0) === 0) return true;
      this.#free.push(late);
      return false;
    });
  }

  #grow(): Cell {
    const { bytes, address, device } = this.#more(PAGE_BYTES);
    for (let at = PAGE_BYTES - CELL_BYTES; at >= 0; at -= CELL_BYTES) {
      const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, STATUS_WORDS);
      this.#free.push({ words, device: device + at, address: address + at });
    }
    return this.#free.pop() as Cell;
  }
}
