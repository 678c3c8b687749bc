/** The polling interval where Atomics.waitAsync is missing (browsers before 2025). */
const POLL_MS = 1;

/** Calls `onChange` when a word of shared memory may have changed, until it returns false. */
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
        if (!Atomics.waitAsync) {
          setTimeout(check, POLL_MS);
          return;
        }
        const change = Atomics.waitAsync(this.#words, this.#word, seen);
        if (change.async) {
          void change.value.then(check);
          return;
        }
      }
    };
    check();
  }

  /** Calls `onChange` again although the word has not changed. */
  recheck(): void {
    if (this.#isWatching) {
      Atomics.add(this.#words, this.#word, 1);
      Atomics.notify(this.#words, this.#word);
    } else {
      this.start();
    }
  }
}
