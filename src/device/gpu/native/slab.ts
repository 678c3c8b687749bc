/**
 * Which stretches of a range of memory are free. Pieces begin on multiples of `ALIGN`, so that no two share a line of any
 * cache: what one writer stores never has another's line fetched again.
 */
export class Slab {
  /** In order, never two side by side. */
  readonly #free: Stretch[];
  readonly #taken = new Map<number, number>();

  /** `address`: where the range lies. Pieces are aligned there, and told by their distance from it. */
  constructor(address: number, bytes: number) {
    const first = aligned(address) - address;
    this.#free = first < bytes ? [{ at: first, bytes: bytes - first }] : [];
  }

  /** Where so many bytes are now taken; undefined where there is no stretch of that length. */
  take(bytes: number): number | undefined {
    const size = aligned(Math.max(1, bytes)); // so that no two pieces begin at the same place
    const index = this.#free.findIndex((stretch) => stretch.bytes >= size);
    const stretch = this.#free[index];
    if (stretch === undefined) return undefined;
    const { at } = stretch;
    const rest = { at: at + size, bytes: stretch.bytes - size };
    this.#free.splice(index, 1, ...(rest.bytes > 0 ? [rest] : []));
    this.#taken.set(at, size);
    return at;
  }

  /** False where no piece that is out begins there. */
  give(at: number): boolean {
    const bytes = this.#taken.get(at);
    if (bytes === undefined) return false;
    this.#taken.delete(at);
    const found = this.#free.findIndex((stretch) => stretch.at > at);
    const index = found < 0 ? this.#free.length : found;
    const [before, after] = [this.#free[index - 1], this.#free[index]];
    const joinsBefore = before !== undefined && before.at + before.bytes === at;
    const joinsAfter = after !== undefined && at + bytes === after.at;
    const begin = joinsBefore ? before.at : at;
    const end = joinsAfter ? after.at + after.bytes : at + bytes;
    const joined = Number(joinsBefore) + Number(joinsAfter);
    this.#free.splice(joinsBefore ? index - 1 : index, joined, { at: begin, bytes: end - begin });
    return true;
  }

  /** Nothing of it is out. */
  get isIdle(): boolean {
    return this.#taken.size === 0;
  }
}

/** Two lines of the longest that there are, and what GPUs move at a time. */
export const ALIGN = 256;

interface Stretch {
  readonly at: number;
  readonly bytes: number;
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGN) * ALIGN;
