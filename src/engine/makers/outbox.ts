import { Fifo } from '../../device/gpu/wire/fifo.js';

/** Values that wait for an iterating consumer. A value's reference is dropped as soon as it has been taken. */
export class Outbox<T> implements AsyncIterable<T> {
  readonly #waiting = new Fifo<T>();
  readonly #onEmpty: () => void;
  #end: { readonly error?: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** `onEmpty` is called when the consumer has taken the last value. */
  constructor(onEmpty: () => void = () => undefined) {
    this.#onEmpty = onEmpty;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** True while the consumer waits for a value. */
  get isAwaited(): boolean {
    return this.#wake !== undefined;
  }

  put(value: T): void {
    this.#waiting.push(value);
    this.#wake?.();
  }

  /** Ends the queue. The consumer gets the error, if there is one, after the waiting values. */
  end(failure?: { readonly error: unknown }): void {
    this.#end ??= failure ?? {};
    this.#wake?.();
  }

  /** Removes and returns all waiting values. */
  drain(): T[] {
    const left = [...this.#waiting];
    this.#waiting.clear();
    return left;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      while (this.#waiting.length > 0) {
        const value = this.#waiting.shift() as T;
        if (this.#waiting.length === 0) this.#onEmpty();
        yield value;
      }
      if (this.#end) {
        if ('error' in this.#end) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
