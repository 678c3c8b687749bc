import { type Board, Word, wakeWorker } from '../wire/board.js';
import { firstWord, RECORD_WORDS } from '../wire/commands.js';
import { Fifo } from '../wire/fifo.js';
import type { RingWriter } from '../wire/ring.js';

/** Puts commands on their way when its turn has come; false when it must be asked again. */
export type Later = () => boolean;

/**
 * The main thread's way into the ring, one per stream. It never waits: what finds no room, or comes behind something
 * that has none, is kept here and follows.
 */
export class Lane {
  /** Where the record that was begun is written. */
  words: Uint32Array;
  readonly line: number;
  readonly #board: Board;
  readonly #ring: RingWriter;
  readonly #spilled = new Fifo<Uint32Array | Later>();
  #size = 0;
  /** True while a `Later` runs: what it writes goes before what is spilled. */
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

  /** Begins a record of so many words of its own: they go to `words` from the index that it gives; then comes `send`. */
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

  /** Whether a record of so many words would be sent at once, by a `Later` whose turn it is. */
  hasRoom(ownWords: number): boolean {
    return this.#ring.place(RECORD_WORDS + ownWords) >= 0;
  }

  /** Does it now, or when everything before it is on its way. */
  later(action: Later): void {
    if (this.spilling || !this.#try(action)) this.#spilled.push(action);
  }

  /** Moves up what was kept. */
  flush(): void {
    for (let next = this.#spilled.first; next; next = this.#spilled.first) {
      if (!(typeof next === 'function' ? this.#try(next) : this.#move(next))) return;
      this.#spilled.shift();
    }
  }

  /** Asks the worker to say when there is room. Where there is some already, the caller should flush once more. */
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
