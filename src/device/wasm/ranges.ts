/**
 * Tracks the free ranges of an address space. First fit, adjacent ranges joined; everything is a multiple of 64 bytes,
 * a cache line. Pure: it hands out numbers.
 */
export const GRAIN = 64;

interface Range {
  at: number;
  bytes: number;
}

export class Ranges {
  /** In order of address; no two are adjacent. */
  readonly #free: Range[] = [];
  #freeBytes = 0;
  /** Nothing from this address on was ever allocated. */
  #fresh: number;

  constructor(from: number) {
    this.#fresh = from;
  }

  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Adds space, [at, at + bytes). */
  add(at: number, bytes: number): void {
    this.give(at, bytes);
  }

  /**
   * Allocates a range. `used` is how many of its first bytes were in use before; the others are untouched. Undefined if
   * there is no space.
   */
  take(bytes: number): { readonly at: number; readonly bytes: number; readonly used: number } | undefined {
    const wanted = Math.max(GRAIN, Math.ceil(bytes / GRAIN) * GRAIN);
    const index = this.#free.findIndex((range) => range.bytes >= wanted);
    const range = this.#free[index];
    if (!range) return undefined;
    const { at } = range;
    range.at += wanted;
    range.bytes -= wanted;
    if (range.bytes === 0) this.#free.splice(index, 1);
    this.#freeBytes -= wanted;
    const used = Math.min(wanted, Math.max(0, this.#fresh - at));
    this.#fresh = Math.max(this.#fresh, at + wanted);
    return { at, bytes: wanted, used };
  }

  /** Takes back a range from `take`, with the size that it returned. */
  give(at: number, bytes: number): void {
    let index = this.#free.findIndex((range) => range.at > at);
    if (index < 0) index = this.#free.length;
    const [before, after] = [this.#free[index - 1], this.#free[index]];
    this.#freeBytes += bytes;
    const joinsBefore = before !== undefined && before.at + before.bytes === at;
    const joinsAfter = after !== undefined && at + bytes === after.at;
    if (joinsBefore) {
      before.bytes += bytes + (joinsAfter ? after.bytes : 0);
      if (joinsAfter) this.#free.splice(index, 1);
    } else if (joinsAfter) {
      after.at = at;
      after.bytes += bytes;
    } else {
      this.#free.splice(index, 0, { at, bytes });
    }
  }

  /** Free bytes at the end of the space, which ends at `end`. */
  tail(end: number): number {
    const last = this.#free.at(-1);
    return last && last.at + last.bytes === end ? last.bytes : 0;
  }
}
