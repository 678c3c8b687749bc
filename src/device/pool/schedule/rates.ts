import { type PoolBoard, RateField, rateOffset } from '../board.js';
import type { SliceState } from './slice.js';

/**
 * The measured speed of each program, in a direct-mapped table of 1,024 entries on the board. If two programs share an
 * entry, only the later one is remembered, which costs the other a few small slices. Accessed under the lock.
 */
export class ProgramRates {
  readonly #numbers: Float64Array;

  constructor(board: PoolBoard) {
    this.#numbers = board.doubles;
  }

  get(program: number): SliceState {
    const at = rateOffset(program);
    if (this.#numbers[at + RateField.program] !== program) return { nsPerItem: 0, lastSlice: 0 };
    return {
      nsPerItem: this.#numbers[at + RateField.nanoseconds] ?? 0,
      lastSlice: this.#numbers[at + RateField.slice] ?? 0,
    };
  }

  set(program: number, state: SliceState): void {
    const at = rateOffset(program);
    this.#numbers[at + RateField.program] = program;
    this.#numbers[at + RateField.nanoseconds] = state.nsPerItem;
    this.#numbers[at + RateField.slice] = state.lastSlice;
  }
}
