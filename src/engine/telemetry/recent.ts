/** A cache of values by key, made on first use. The least recently used is dropped when there are more than `most`. */
export class Recent<Value> {
  readonly #most: number;
  /** The most recently used last. */
  readonly #values = new Map<string, { readonly value: Value }>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string, make: () => Value): Value {
    const held = this.#values.get(key) ?? { value: make() };
    this.#values.delete(key);
    this.#values.set(key, held);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#most && oldest !== undefined) this.#values.delete(oldest);
    return held.value;
  }
}
