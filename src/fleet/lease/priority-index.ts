/** Items with a key each, the largest first: a binary heap that also finds an item, so that keys can change in O(log n). */
export class PriorityIndex<T extends object> {
  readonly #items: T[] = [];
  readonly #keys: number[] = [];
  readonly #places = new Map<T, number>();
  /** Items that were moved, to check that their number grows with log n. */
  steps = 0;

  get size(): number {
    return this.#items.length;
  }

  /** The item with the largest key. */
  get top(): T | undefined {
    return this.#items[0];
  }

  keyOf(item: T): number | undefined {
    const place = this.#places.get(item);
    return place === undefined ? undefined : this.#keys[place];
  }

  /** Adds an item, or changes its key. */
  set(item: T, key: number): void {
    const place = this.#places.get(item) ?? this.#items.length;
    const before = this.#keys[place];
    this.#put(place, item, key);
    if (before === undefined || key > before) this.#rise(place);
    else this.#sink(place);
  }

  delete(item: T): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    const key = this.#keys.pop();
    if (last === undefined || key === undefined || last === item) return;
    this.#put(place, last, key);
    this.#rise(place);
    this.#sink(this.#places.get(last) ?? place);
  }

  #rise(from: number): void {
    for (let place = from; place > 0; ) {
      const parent = (place - 1) >> 1;
      if (this.#key(parent) >= this.#key(place)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      let largest = place;
      for (const child of [2 * place + 1, 2 * place + 2]) if (this.#key(child) > this.#key(largest)) largest = child;
      if (largest === place) return;
      this.#swap(place, largest);
      place = largest;
    }
  }

  #key(place: number): number {
    return this.#keys[place] ?? Number.NEGATIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    this.steps++;
    const [first, second] = [this.#items[a], this.#items[b]];
    const [firstKey, secondKey] = [this.#key(a), this.#key(b)];
    if (first === undefined || second === undefined) return;
    this.#put(a, second, secondKey);
    this.#put(b, first, firstKey);
  }

  #put(place: number, item: T, key: number): void {
    this.#items[place] = item;
    this.#keys[place] = key;
    this.#places.set(item, place);
  }
}
