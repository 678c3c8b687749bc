import { type Board, Rate, rateNumber } from '../board.js';
import type { SliceState } from './slice.js';

/**
 * What the pool knows of each program's speed. A direct-mapped table of 1,024 on the board: of two programs in the same
 * place only the later is remembered, which costs the other a few small slices. Under the lock.
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
