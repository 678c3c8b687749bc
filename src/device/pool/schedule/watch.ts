import { notifyChange, waitForChange } from './signal.js';

/** Calls `onChange` when a word of memory may have changed, until it returns false. */
export class WordWatcher {
  readonly #words: Int32Array;
  readonly #word: number;
  readonly #onChange: () => boolean;
  #isWatching = false;

  constructor(words: Int32Array, word: number, onChange: () => boolean) {
    this.#words = words;
    this.#word = word;
    this.#onChange = onChange;
  }

  /** Calls `onChange` now and on every change. A wake-up costs about 10 µs. */
  start(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const check = (): void => {
      for (;;) {
        const seen = Atomics.load(this.#words, this.#word);
        if (!this.#onChange()) {
          this.#isWatching = false;
          return;
        }
        const change = waitForChange(this.#words, this.#word, seen);
        if (change === undefined) continue;
        void change.then(check);
        return;
      }
    };
    check();
  }

  /** Calls `onChange` again although the word has not changed. */
  recheck(): void {
    if (this.#isWatching) {
      Atomics.add(this.#words, this.#word, 1);
      notifyChange(this.#words, this.#word);
    } else {
      this.start();
    }
  }
}
