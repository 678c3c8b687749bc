/** A cache of values by key, made on first use. The least recently used is dropped when there are more than `capacity`. */
export class LruCache<Value> {
  readonly #capacity: number;
  /** The most recently used last. */
  readonly #values = new Map<string, { readonly value: Value }>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string, make: () => Value): Value {
    const entry = this.#values.get(key) ?? { value: make() };
    this.#values.delete(key);
    this.#values.set(key, entry);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#capacity && oldest !== undefined) this.#values.delete(oldest);
    return entry.value;
  }
}
