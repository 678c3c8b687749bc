/**
 * Numbers of unloaded programs, for the workers, which keep an instance of each program that they have run: a count
 * modulo 2^32, then a ring of the last numbers. The main thread writes; a worker checks before each launch.
 */
const RING = 64;
export const CLOSED_WORDS = 1 + RING;

/**
 * Main thread: called when no launch in flight uses the program. `words` is all of the device's memory, `at` the
 * count's index.
 */
export function announceClosed(words: Int32Array, at: number, number: number): void {
  const count = Atomics.load(words, at);
  Atomics.store(words, at + 1 + (count & (RING - 1)), number);
  Atomics.store(words, at, (count + 1) | 0);
}

/** A worker's view of the unloaded programs. */
export class ClosedPrograms {
  readonly #words: Int32Array;
  #seen: number;

  /** `words`: `CLOSED_WORDS` words. */
  constructor(words: Int32Array) {
    this.#words = words;
    this.#seen = Atomics.load(words, 0);
  }

  /**
   * Deletes from `programs` those unloaded since the last call; all of them if the ring has been overwritten. Returns
   * how many were deleted.
   */
  dropFrom(programs: Map<number, unknown>): number {
    const count = Atomics.load(this.#words, 0);
    const before = programs.size;
    if ((count - this.#seen) >>> 0 >= RING) programs.clear();
    else {
      for (let at = this.#seen; at !== count; at = (at + 1) | 0) {
        programs.delete(Atomics.load(this.#words, 1 + (at & (RING - 1))));
      }
    }
    this.#seen = count;
    return before - programs.size;
  }
}
