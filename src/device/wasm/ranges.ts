/**
 * Tracks the free ranges of an address space. First fit, adjacent ranges joined; everything is a multiple of 64 bytes,
 * a cache line. Pure: it hands out numbers.
 */
export const ALIGNMENT = 64;

interface Range {
  at: number;
  bytes: number;
}

export class FreeRanges {
  /** In order of address; no two are adjacent. */
  readonly #freeRanges: Range[] = [];
  #freeBytes = 0;
  /** Nothing from this address on was ever allocated. */
  #untouchedFrom: number;

  constructor(from: number) {
    this.#untouchedFrom = from;
  }

  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** Adds space, [at, at + bytes). */
  add(at: number, bytes: number): void {
    this.free(at, bytes);
  }

  /**
   * Allocates a range. `dirtyBytes` of its first bytes were in use before; the others are untouched. Undefined if there
   * is no space.
   */
  allocate(bytes: number): { readonly at: number; readonly bytes: number; readonly dirtyBytes: number } | undefined {
    const size = Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT);
    const index = this.#freeRanges.findIndex((range) => range.bytes >= size);
    const range = this.#freeRanges[index];
    if (!range) return undefined;
    const { at } = range;
    range.at += size;
    range.bytes -= size;
    if (range.bytes === 0) this.#freeRanges.splice(index, 1);
    this.#freeBytes -= size;
    const dirtyBytes = Math.min(size, Math.max(0, this.#untouchedFrom - at));
    this.#untouchedFrom = Math.max(this.#untouchedFrom, at + size);
    return { at, bytes: size, dirtyBytes };
  }

  /** Frees a range from `allocate`, with the size that it returned. */
  free(at: number, bytes: number): void {
    let index = this.#freeRanges.findIndex((range) => range.at > at);
    if (index < 0) index = this.#freeRanges.length;
    const [before, after] = [this.#freeRanges[index - 1], this.#freeRanges[index]];
    this.#freeBytes += bytes;
    const joinsBefore = before !== undefined && before.at + before.bytes === at;
    const joinsAfter = after !== undefined && at + bytes === after.at;
    if (joinsBefore) {
      before.bytes += bytes + (joinsAfter ? after.bytes : 0);
      if (joinsAfter) this.#freeRanges.splice(index, 1);
    } else if (joinsAfter) {
      after.at = at;
      after.bytes += bytes;
    } else {
      this.#freeRanges.splice(index, 0, { at, bytes });
    }
  }

  /** Free bytes at the end of the space, which ends at `end`. */
  freeTail(end: number): number {
    const last = this.#freeRanges.at(-1);
    return last && last.at + last.bytes === end ? last.bytes : 0;
  }
}
