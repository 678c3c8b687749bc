import { type Board, RING_WORDS, Word } from './board.js';

/**
 * The command ring on the board: records of any length, one thread writes, one reads. A record is contiguous; if it
 * would cross the ring's end, a marker word leads back to the beginning. `tail` and `head` count words.
 *
 * A record's first word holds its kind (8 bits) and its line; the second its number of words, both included.
 */
const MASK = RING_WORDS - 1;
/** The marker: continue at the beginning. */
const WRAP = 0;

/** The longest record: two of them fit at any position. */
export const MAX_RECORD_WORDS = RING_WORDS / 4;

/** The main thread's side. */
export class RingWriter {
  readonly words: Uint32Array;
  readonly #board: Board;
  #tail = 0;

  constructor(board: Board) {
    this.#board = board;
    this.words = board.ring;
  }

  /** Returns the index for a record of `size` words; -1 if there is no space now. */
  reserve(size: number): number {
    const at = this.#tail & MASK;
    const skipped = at + size > RING_WORDS ? RING_WORDS - at : 0;
    const used = (this.#tail - Atomics.load(this.#board.words, Word.head)) >>> 0;
    if (used + skipped + size > RING_WORDS) return -1;
    if (skipped === 0) return at;
    this.words[at] = WRAP;
    this.#tail = (this.#tail + skipped) | 0;
    return 0;
  }

  /** Makes the record that was placed and written visible to the worker. */
  publish(size: number): void {
    this.#tail = (this.#tail + size) | 0;
    Atomics.store(this.#board.words, Word.tail, this.#tail);
  }
}

/** The worker's side. */
export class RingReader {
  readonly words: Uint32Array;
  readonly #board: Board;
  #head = 0;

  constructor(board: Board) {
    this.#board = board;
    this.words = board.ring;
  }

  /**
   * Calls `take` with the index of every record there is now. The record is gone when `take` returns. False if there
   * was none.
   */
  drain(take: (at: number) => void): boolean {
    const { words } = this.#board;
    const tail = Atomics.load(words, Word.tail);
    if (this.#head === tail) return false;
    while (this.#head !== tail) {
      const at = this.#head & MASK;
      if (this.words[at] === WRAP) {
        this.#head = (this.#head + RING_WORDS - at) | 0;
        continue;
      }
      take(at);
      this.#head = (this.#head + (this.words[at + 1] ?? 0)) | 0;
      Atomics.store(words, Word.head, this.#head);
    }
    return true;
  }
}
