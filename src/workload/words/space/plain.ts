import { type ByteString, fromByteString } from './charset.js';
import { type Mask, maxWordBytes, widthOf, wordCount } from './mask.js';
import { type Order, slowestFirst } from './order.js';
import type { Words } from './words.js';

/** All words of a mask: an index is a number in mixed radix, its digits the characters. */
export class PlainWords implements Words {
  readonly mask: Mask;
  readonly order: Order;
  readonly size: bigint;
  /** Positions from the slowest to the fastest. */
  readonly #slowestFirst: readonly number[];

  constructor(mask: Mask, order: Order) {
    this.mask = mask;
    this.order = order;
    this.size = wordCount(mask);
    this.#slowestFirst = slowestFirst(mask, order);
  }

  wordAt(index: bigint): ByteString {
    const digits = this.#digitsAt(index);
    return this.mask.map((charset, position) => charset[digits[position] ?? 0] ?? '').join('');
  }

  indexOf(word: ByteString): bigint | undefined {
    return smallestIndex(this.mask, this.#slowestFirst, word);
  }

  fill(into: Uint8Array, start: bigint, count: number, separator: ByteString): number {
    const digits = this.#digitsAt(start);
    const width = widthOf(this.mask);
    return width === undefined
      ? this.#fillVarying(into, digits, count, separator)
      : this.#fillRows(into, digits, count, separator, width);
  }

  #digitsAt(index: bigint): number[] {
    const digits: number[] = [];
    let rest = index;
    for (const position of this.#slowestFirst.toReversed()) {
      const size = BigInt(this.mask[position]?.length ?? 1);
      digits[position] = Number(rest % size);
      rest /= size;
    }
    return digits;
  }

  /** Increments the digits to the next word, from the fastest position on; returns the number of changed digits. */
  #increment(digits: number[], from = this.#slowestFirst.length - 1): number {
    for (let at = from; at >= 0; at--) {
      const position = this.#slowestFirst[at] ?? 0;
      const next = (digits[position] ?? 0) + 1;
      digits[position] = next === this.mask[position]?.length ? 0 : next;
      if (digits[position] !== 0) return at;
    }
    return 0;
  }

  /** Fills words of one length: only the changed characters of the previous row are written. */
  #fillRows(into: Uint8Array, digits: number[], count: number, separator: ByteString, width: number): number {
    const columns: number[] = [];
    const characters = this.mask.map((charset, position) => {
      columns[position + 1] = (columns[position] ?? 0) + (charset[0]?.length ?? 0);
      return charset.map(fromByteString);
    });
    columns[0] = 0;
    const row = new Uint8Array(width + separator.length);
    row.set(fromByteString(separator), width);
    const put = (position: number): void =>
      row.set(characters[position]?.[digits[position] ?? 0] ?? [], columns[position]);
    for (const position of this.mask.keys()) put(position);
    const last = this.#slowestFirst.length - 1;
    const fastest = this.#slowestFirst[last] ?? 0;
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
      for (let level = changed; level <= last; level++) put(this.#slowestFirst[level] ?? 0);
    }
    return at;
  }

  #fillVarying(into: Uint8Array, digits: number[], count: number, separator: ByteString): number {
    const characters = this.mask.map((charset) => charset.map(fromByteString));
    const end = fromByteString(separator);
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
function smallestIndex(mask: Mask, order: readonly number[], word: ByteString): bigint | undefined {
  if (word.length > maxWordBytes(mask)) return undefined;
  const placeValues: bigint[] = [];
  let placeValue = 1n;
  for (const position of order.toReversed()) {
    placeValues[position] = placeValue;
    placeValue *= BigInt(mask[position]?.length ?? 1);
  }
  let ends = new Map<number, bigint>([[word.length, 0n]]);
  for (let position = mask.length - 1; position >= 0; position--) {
    const begins = new Map<number, bigint>();
    for (const [end, index] of ends) {
      for (const [digit, character] of (mask[position] ?? []).entries()) {
        if (!word.endsWith(character, end)) continue;
        const begin = end - character.length;
        const here = index + BigInt(digit) * (placeValues[position] ?? 0n);
        const before = begins.get(begin);
        if (before === undefined || here < before) begins.set(begin, here);
      }
    }
    ends = begins;
  }
  return ends.get(0);
}
