/**
 * Tracks the free ranges of a memory region. Pieces begin on multiples of `ALIGN`, so that no two share a cache line: a
 * write to one never causes another's line to be fetched again.
 */
export class Slab {
  /** In order of address, never two adjacent. */
  readonly #free: FreeRange[];
  readonly #allocated = new Map<number, number>();

  /** `address`: the region's address. Pieces are aligned in memory and identified by their offset in the region. */
  constructor(address: number, bytes: number) {
    const first = aligned(address) - address;
    this.#free = first < bytes ? [{ at: first, bytes: bytes - first }] : [];
  }

  /** Takes `bytes` bytes and returns their offset; undefined if no free range is long enough. */
  alloc(bytes: number): number | undefined {
    const size = aligned(Math.max(1, bytes)); // so that no two pieces begin at the same offset
    const index = this.#free.findIndex((range) => range.bytes >= size);
    const range = this.#free[index];
    if (range === undefined) return undefined;
    const { at } = range;
    const rest = { at: at + size, bytes: range.bytes - size };
    this.#free.splice(index, 1, ...(rest.bytes > 0 ? [rest] : []));
    this.#allocated.set(at, size);
    return at;
  }

  /** Releases a piece. False if no piece in use begins there. */
  free(at: number): boolean {
    const bytes = this.#allocated.get(at);
    if (bytes === undefined) return false;
    this.#allocated.delete(at);
    const found = this.#free.findIndex((range) => range.at > at);
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

  /** True if no piece is in use. */
  get isIdle(): boolean {
    return this.#allocated.size === 0;
  }
}

/** Two of the longest cache lines, and the unit that GPUs transfer. */
export const ALIGN = 256;

interface FreeRange {
  readonly at: number;
  readonly bytes: number;
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGN) * ALIGN;
