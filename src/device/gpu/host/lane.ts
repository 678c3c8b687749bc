import { type Board, Word, wakeWorker } from '../wire/board.js';
import { firstWord, RECORD_WORDS } from '../wire/commands.js';
import { Fifo } from '../wire/fifo.js';
import type { RingWriter } from '../wire/ring.js';

/** Sends commands when its turn comes; false if it must be called again. */
export type Later = () => boolean;

/**
 * The main thread's access to the ring, one per stream. It never blocks: commands that find no space, or are queued
 * behind one that found none, are kept here and sent later.
 */
export class Lane {
  /** The array in which the current record is written. */
  words: Uint32Array;
  readonly line: number;
  readonly #board: Board;
  readonly #ring: RingWriter;
  readonly #spilled = new Fifo<Uint32Array | Later>();
  #size = 0;
  /** True while a `Later` runs: its records go before the spilled ones. */
  #first = false;

  constructor(board: Board, ring: RingWriter, line: number) {
    this.#board = board;
    this.#ring = ring;
    this.line = line;
    this.words = ring.words;
  }

  get spilling(): boolean {
    return this.#spilled.length > 0;
  }

  /** Begins a record with `ownWords` words of content, written to `words` from the returned index; `send` completes it. */
  begin(kind: number, ownWords: number): number {
    this.#size = RECORD_WORDS + ownWords;
    let at = this.spilling && !this.#first ? -1 : this.#ring.place(this.#size);
    this.words = this.#ring.words;
    if (at < 0) {
      at = 0;
      this.words = new Uint32Array(this.#size);
    }
    this.words[at] = firstWord(kind, this.line);
    this.words[at + 1] = this.#size;
    return at + RECORD_WORDS;
  }

  send(): void {
    if (this.words !== this.#ring.words) {
      this.#spilled.push(this.words);
      return;
    }
    this.#ring.publish(this.#size);
    wakeWorker(this.#board.words);
  }

  /** True if a `Later` whose turn it is could send a record of `ownWords` words at once. */
  hasRoom(ownWords: number): boolean {
    return this.#ring.place(RECORD_WORDS + ownWords) >= 0;
  }

  /** Runs the action now, or after everything queued before it has been sent. */
  later(action: Later): void {
    if (this.spilling || !this.#try(action)) this.#spilled.push(action);
  }

  /** Sends what was kept, as far as there is space. */
  flush(): void {
    for (let next = this.#spilled.first; next; next = this.#spilled.first) {
      if (!(typeof next === 'function' ? this.#try(next) : this.#move(next))) return;
      this.#spilled.shift();
    }
  }

  /** Asks the worker to notify when there is space. The caller must flush once more, in case there is some already. */
  wantRoom(): void {
    Atomics.store(this.#board.words, Word.want, 1);
  }

  #try(action: Later): boolean {
    this.#first = true;
    try {
      return action();
    } finally {
      this.#first = false;
    }
  }

  #move(record: Uint32Array): boolean {
    const at = this.#ring.place(record.length);
    if (at < 0) return false;
    this.#ring.words.set(record, at);
    this.#ring.publish(record.length);
    wakeWorker(this.#board.words);
    return true;
  }
}
