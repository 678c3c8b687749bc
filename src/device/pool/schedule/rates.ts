import { type Board, Rate, rateNumber } from '../board.js';
import type { SliceState } from './slice.js';

/**
 * The measured speed of each program, in a direct-mapped table of 1,024 entries on the board. If two programs share an
 * entry, only the later one is remembered, which costs the other a few small slices. Accessed under the lock.
 */
export class Rates {
  readonly #numbers: Float64Array;

  constructor(board: Board) {
    this.#numbers = board.numbers;
  }

  of(program: number): SliceState {
    const at = rateNumber(program);
    if (this.#numbers[at + Rate.program] !== program) return { nanoseconds: 0, slice: 0 };
    return { nanoseconds: this.#numbers[at + Rate.nanoseconds] ?? 0, slice: this.#numbers[at + Rate.slice] ?? 0 };
  }

  set(program: number, state: SliceState): void {
    const at = rateNumber(program);
    this.#numbers[at + Rate.program] = program;
    this.#numbers[at + Rate.nanoseconds] = state.nanoseconds;
    this.#numbers[at + Rate.slice] = state.slice;
  }
}
