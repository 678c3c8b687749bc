/** What waits for a consumer that iterates: put in at any time, taken out one by one. */
export class Outbox<T> implements AsyncIterable<T> {
  readonly #waiting: T[] = [];
  readonly #onRoom: () => void;
  #from = 0;
  #end: { readonly error?: unknown } | undefined;
  #wake: () => void = () => undefined;

  /** `onRoom` is called when the consumer has taken everything there was. */
  constructor(onRoom: () => void = () => undefined) {
    this.#onRoom = onRoom;
  }

  get length(): number {
    return this.#waiting.length - this.#from;
  }

  put(value: T): void {
    this.#waiting.push(value);
    this.#wake();
  }

  /** Nothing more comes. With an error, that is what the consumer gets, after what was put in before. */
  end(failure?: { readonly error: unknown }): void {
    this.#end ??= failure ?? {};
    this.#wake();
  }

  /** Everything that nobody has taken, and will not be. */
  drain(): T[] {
    const left = this.#waiting.splice(0).slice(this.#from);
    this.#from = 0;
    return left;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      while (this.#from < this.#waiting.length) {
        const value = this.#waiting[this.#from] as T;
        this.#from++;
        // Taken entries go in bulk: shifting one by one moves all others each time.
        if (this.#from === this.#waiting.length) this.#clear();
        yield value;
      }
      if (this.#end) {
        if ('error' in this.#end) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #clear(): void {
    this.#waiting.length = 0;
    this.#from = 0;
    this.#onRoom();
  }
}
