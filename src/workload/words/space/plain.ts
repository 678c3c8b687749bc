import { type Bytes, unlatin } from './charset.js';
import { longestOf, type Mask, sizeOf, widthOf } from './mask.js';
import { type Order, significance } from './order.js';
import type { Words } from './words.js';

/** All words of a mask: an index is a number in mixed radix, its digits the characters. */
export class PlainWords implements Words {
  readonly mask: Mask;
  readonly order: Order;
  readonly size: bigint;
  /** Positions from the slowest to the fastest. */
  readonly #order: readonly number[];

  constructor(mask: Mask, order: Order) {
    this.mask = mask;
    this.order = order;
    this.size = sizeOf(mask);
    this.#order = significance(mask, order);
  }

  wordAt(index: bigint): Bytes {
    const digits = this.#digitsAt(index);
    return this.mask.map((charset, position) => charset[digits[position] ?? 0] ?? '').join('');
  }

  indexOf(word: Bytes): bigint | undefined {
    return smallestIndex(this.mask, this.#order, word);
  }

  fill(into: Uint8Array, start: bigint, count: number, separator: Bytes): number {
    const digits = this.#digitsAt(start);
    const width = widthOf(this.mask);
    return width === undefined
      ? this.#fillVarying(into, digits, count, separator)
      : this.#fillRows(into, digits, count, separator, width);
  }

  #digitsAt(index: bigint): number[] {
    const digits: number[] = [];
    let rest = index;
    for (const position of this.#order.toReversed()) {
      const size = BigInt(this.mask[position]?.length ?? 1);
      digits[position] = Number(rest % size);
      rest /= size;
    }
    return digits;
  }

  /** Increments the digits to the next word, from the fastest position on; returns the number of changed digits. */
  #increment(digits: number[], from = this.#order.length - 1): number {
    for (let at = from; at >= 0; at--) {
      const position = this.#order[at] ?? 0;
      const next = (digits[position] ?? 0) + 1;
      digits[position] = next === this.mask[position]?.length ? 0 : next;
      if (digits[position] !== 0) return at;
    }
    return 0;
  }

  /** Fills words of one length: only the changed characters of the previous row are written. */
  #fillRows(into: Uint8Array, digits: number[], count: number, separator: Bytes, width: number): number {
    const columns: number[] = [];
    const characters = this.mask.map((charset, position) => {
      columns[position + 1] = (columns[position] ?? 0) + (charset[0]?.length ?? 0);
      return charset.map(unlatin);
    });
    columns[0] = 0;
    const row = new Uint8Array(width + separator.length);
    row.set(unlatin(separator), width);
    const put = (position: number): void =>
      row.set(characters[position]?.[digits[position] ?? 0] ?? [], columns[position]);
    for (const position of this.mask.keys()) put(position);
    const last = this.#order.length - 1;
    const fastest = this.#order[last] ?? 0;
    const column = columns[fastest] ?? 0;
    const single = (characters[fastest] ?? []).every(({ length }) => length === 1);
    const bytes = Uint8Array.from((characters[fastest] ?? []).map(([byte = 0]) => byte));
    let at = 0;
    for (let done = 0; done < count; ) {
      // All words that differ only in the fastest position.
      const first = digits[fastest] ?? 0;
      const end = Math.min(bytes.length, first + count - done);
      for (let digit = first; digit < end; digit++, at += row.length) {
        for (let k = 0; k < row.length; k++) into[at + k] = row[k] ?? 0;
        if (single) into[at + column] = bytes[digit] ?? 0;
        else into.set(characters[fastest]?.[digit] ?? [], at + column);
      }
      done += end - first;
      digits[fastest] = 0;
      const changed = last === 0 ? 0 : this.#increment(digits, last - 1);
      for (let level = changed; level <= last; level++) put(this.#order[level] ?? 0);
    }
    return at;
  }

  #fillVarying(into: Uint8Array, digits: number[], count: number, separator: Bytes): number {
    const characters = this.mask.map((charset) => charset.map(unlatin));
    const end = unlatin(separator);
    let at = 0;
    for (let done = 0; done < count; done++) {
      for (const [position, charset] of characters.entries()) {
        const character = charset[digits[position] ?? 0] ?? end;
        into.set(character, at);
        at += character.length;
      }
      into.set(end, at);
      at += end.length;
      this.#increment(digits);
    }
    return at;
  }
}

/**
 * Returns the smallest index of a word. Characters of several lengths allow several readings, so every one is followed:
 * from the last position to the first, with the offset where each may begin and the smallest index for it.
 */
function smallestIndex(mask: Mask, order: readonly number[], word: Bytes): bigint | undefined {
  if (word.length > longestOf(mask)) return undefined;
  const places: bigint[] = [];
  let place = 1n;
  for (const position of order.toReversed()) {
    places[position] = place;
    place *= BigInt(mask[position]?.length ?? 1);
  }
  let ends = new Map<number, bigint>([[word.length, 0n]]);
  for (let position = mask.length - 1; position >= 0; position--) {
    const begins = new Map<number, bigint>();
    for (const [end, index] of ends) {
      for (const [digit, character] of (mask[position] ?? []).entries()) {
        if (!word.endsWith(character, end)) continue;
        const begin = end - character.length;
        const here = index + BigInt(digit) * (places[position] ?? 0n);
        const before = begins.get(begin);
        if (before === undefined || here < before) begins.set(begin, here);
      }
    }
    ends = begins;
  }
  return ends.get(0);
}
