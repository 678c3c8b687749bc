/**
 * Values in ascending order of a bigint: a skip list, so that finding, inserting and removing take O(log n) steps and
 * the neighbour is one step away.
 */
export class OrderedIndex<T extends { readonly start: bigint }> {
  readonly #head: SkipNode<T> = { value: undefined, next: [] };
  /** The last node before the place of a search, on each level. Reused: a search allocates nothing. */
  readonly #path: SkipNode<T>[] = [];
  #random = 0x9e3779b9;
  #size = 0;
  /** Nodes that searches have looked at, to check that their number grows with log n. */
  steps = 0;

  get size(): number {
    return this.#size;
  }

  add(value: T): void {
    this.#find(value.start);
    const levels = this.#levels();
    const node: SkipNode<T> = { value, next: [] };
    for (let level = 0; level < levels; level++) {
      const before = this.#path[level] ?? this.#head;
      node.next[level] = before.next[level];
      before.next[level] = node;
    }
    this.#size++;
  }

  delete(value: T): boolean {
    const node = this.#find(value.start).next[0];
    if (node?.value !== value) return false;
    for (let level = 0; level < node.next.length; level++) {
      const before = this.#path[level];
      if (before) before.next[level] = node.next[level];
    }
    while (this.#head.next.length > 0 && this.#head.next.at(-1) === undefined) this.#head.next.pop();
    this.#size--;
    return true;
  }

  /** Returns the last value that starts at `index` or below. */
  at(index: bigint): T | undefined {
    return this.#find(index + 1n).value;
  }

  /** Yields the values that start at `index` or above, ascending. The caller may change the index between two values. */
  *from(index: bigint): Generator<T> {
    let node = this.#find(index).next[0];
    while (node?.value !== undefined) {
      const { next } = node;
      yield node.value;
      node = next[0];
    }
  }

  *[Symbol.iterator](): Generator<T> {
    for (let node = this.#head.next[0]; node?.value !== undefined; node = node.next[0]) yield node.value;
  }

  /** Returns the last node below `start` and notes the path to it. */
  #find(start: bigint): SkipNode<T> {
    let node = this.#head;
    for (let level = this.#head.next.length - 1; level >= 0; level--) {
      for (
        let next = node.next[level];
        next?.value !== undefined && next.value.start < start;
        next = node.next[level]
      ) {
        node = next;
        this.steps++;
      }
      this.steps++;
      this.#path[level] = node;
    }
    this.#path.length = this.#head.next.length;
    return node;
  }

  /** Each level has a quarter of the nodes of the one below. The sequence is fixed, so that runs can be repeated. */
  #levels(): number {
    let levels = 1;
    this.#random = Math.imul(this.#random ^ (this.#random >>> 15), 0x2c1b3c6d) + 0x297a2d39;
    let bits = (this.#random ^ (this.#random >>> 13)) >>> 0;
    while ((bits & 3) === 0 && levels < MAX_LEVELS) {
      levels++;
      bits >>>= 2;
    }
    return levels;
  }
}

interface SkipNode<T> {
  readonly value: T | undefined;
  readonly next: (SkipNode<T> | undefined)[];
}

/** Enough for 4^12 values. */
const MAX_LEVELS = 12;
