/** Results that are kept while what they were computed from has the same revision. */
export class Kept<T> {
  readonly #kept = new Map<string, T>();
  #revision = -1;

  get(key: string, revision: number, compute: () => T): T {
    if (revision !== this.#revision || this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#revision = revision;
    const known = this.#kept.get(key) ?? compute();
    this.#kept.set(key, known);
    return known;
  }
}

/** Different lists that pages look at: each holds all workers. */
const MAX_KEPT = 8;
