import type { Indexed } from '../../engine/makers/reorder-buffer.js';
import { Intervals } from '../../engine/work/intervals.js';
import type { ChunkSource } from '../../engine/work/source.js';
import { between, maxBigint, minBigint, type Piece, type Range, rangeOf } from '../../engine/work/space.js';

/**
 * Supplies an engine with the ranges of leases. The engine gets little more than it asks for, so that what is dropped or
 * paused has mostly not begun.
 */
export class LeaseSource<T extends Indexed> implements ChunkSource<readonly T[]> {
  readonly completed = Intervals.none;
  readonly isExhausted = false;
  #todo = Intervals.none;
  /** With the engine. */
  #taken = Intervals.none;
  #isPaused = false;
  #wake: () => void = () => undefined;
  #forget: (range: Range) => void = () => undefined;
  readonly #onDone: (range: Range, hits: readonly T[]) => void;

  constructor(onDone: (range: Range, hits: readonly T[]) => void) {
    this.#onDone = onDone;
  }

  /** True if the engine has ranges that are not done. */
  get isTaken(): boolean {
    return !this.#taken.isEmpty;
  }

  feed(range: Range): void {
    this.#todo = this.#todo.add(range);
    this.#forget(range);
    this.#wake();
  }

  drop(range: Range): void {
    this.#todo = this.#todo.remove(range);
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#wake();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  take(wanted: bigint): Range | undefined {
    const { first } = this.#todo;
    if (first === undefined || this.#isPaused) return undefined;
    const range = between(first.start, first.start + minBigint(first.length, maxBigint(wanted, 1n)));
    this.#todo = this.#todo.remove(range);
    this.#taken = this.#taken.add(range);
    return range;
  }

  commit(piece: Piece, hits: readonly T[]): void {
    this.#taken = this.#taken.remove(rangeOf(piece));
    this.#onDone(rangeOf(piece), hits);
  }

  giveBack(range: Range): void {
    this.#taken = this.#taken.remove(range);
  }

  dropFrom(): void {}

  watch(wake: () => void, forget: (range: Range) => void): void {
    this.#wake = wake;
    this.#forget = forget;
  }
}
