/** A first-in, first-out queue with constant-time operations. */
export class Fifo<T> {
  readonly #entries: (T | undefined)[] = [];
  #from = 0;

  get length(): number {
    return this.#entries.length - this.#from;
  }

  get first(): T | undefined {
    return this.#entries[this.#from];
  }

  /** The entry at a position, counted from the first. */
  at(index: number): T | undefined {
    return this.#entries[this.#from + index];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const entry = this.#entries[this.#from];
    this.#entries[this.#from++] = undefined;
    if (this.length === 0) {
      this.clear();
    } else if (this.#from >= 1024 && this.#from * 2 >= this.#entries.length) {
      this.#entries.splice(0, this.#from);
      this.#from = 0;
    }
    return entry;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#from = 0;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let at = this.#from; at < this.#entries.length; at++) yield this.#entries[at] as T;
  }
}
