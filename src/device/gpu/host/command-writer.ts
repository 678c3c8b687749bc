import { type Board, Word, wakeWorker } from '../wire/board.js';
import { firstWord, RECORD_WORDS } from '../wire/commands.js';
import { Fifo } from '../wire/fifo.js';
import type { RingWriter } from '../wire/ring.js';

/** Sends commands when its turn comes; false if it must be called again. */
export type DeferredSend = () => boolean;

/**
 * The main thread's access to the ring, one per stream. It never blocks: commands that find no space, or are queued
 * behind one that found none, are kept here and sent later.
 */
export class CommandWriter {
  /** The array in which the current record is written. */
  words: Uint32Array;
  readonly line: number;
  readonly #board: Board;
  readonly #ring: RingWriter;
  readonly #overflow = new Fifo<Uint32Array | DeferredSend>();
  #recordWords = 0;
  /** True while a `DeferredSend` runs: its records go before the spilled ones. */
  #isRunningDeferred = false;

  constructor(board: Board, ring: RingWriter, line: number) {
    this.#board = board;
    this.#ring = ring;
    this.line = line;
    this.words = ring.words;
  }

  get hasOverflow(): boolean {
    return this.#overflow.length > 0;
  }

  /** Begins a record with `ownWords` words of content, written to `words` from the returned index; `send` completes it. */
  begin(kind: number, ownWords: number): number {
    this.#recordWords = RECORD_WORDS + ownWords;
    let at = this.hasOverflow && !this.#isRunningDeferred ? -1 : this.#ring.reserve(this.#recordWords);
    this.words = this.#ring.words;
    if (at < 0) {
      at = 0;
      this.words = new Uint32Array(this.#recordWords);
    }
    this.words[at] = firstWord(kind, this.line);
    this.words[at + 1] = this.#recordWords;
    return at + RECORD_WORDS;
  }

  send(): void {
    if (this.words !== this.#ring.words) {
      this.#overflow.push(this.words);
      return;
    }
    this.#ring.publish(this.#recordWords);
    wakeWorker(this.#board.words);
  }

  /** True if a `DeferredSend` whose turn it is could send a record of `ownWords` words at once. */
  hasSpace(ownWords: number): boolean {
    return this.#ring.reserve(RECORD_WORDS + ownWords) >= 0;
  }

  /** Runs the action now, or after everything queued before it has been sent. */
  sendInOrder(action: DeferredSend): void {
    if (this.hasOverflow || !this.#runDeferred(action)) this.#overflow.push(action);
  }

  /** Sends what was kept, as far as there is space. */
  flush(): void {
    for (let next = this.#overflow.first; next; next = this.#overflow.first) {
      if (!(typeof next === 'function' ? this.#runDeferred(next) : this.#sendRecord(next))) return;
      this.#overflow.shift();
    }
  }

  /** Asks the worker to notify when there is space. The caller must flush once more, in case there is some already. */
  requestSpaceNotice(): void {
    Atomics.store(this.#board.words, Word.wantsSpace, 1);
  }

  #runDeferred(action: DeferredSend): boolean {
    this.#isRunningDeferred = true;
    try {
      return action();
    } finally {
      this.#isRunningDeferred = false;
    }
  }

  #sendRecord(record: Uint32Array): boolean {
    const at = this.#ring.reserve(record.length);
    if (at < 0) return false;
    this.#ring.words.set(record, at);
    this.#ring.publish(record.length);
    wakeWorker(this.#board.words);
    return true;
  }
}
