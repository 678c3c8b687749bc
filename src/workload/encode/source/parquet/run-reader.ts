/**
 * Reads small whole numbers as Parquet stores levels and dictionary indices: runs of one number, and groups of eight packed
 * into as few bits as the largest needs. Numbers are unpacked on demand, so a run of 65,535 costs as much as one number.
 */
export class RunReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #width: number;
  #at = 0;
  /** The current run of one number: how many are left, and the number. */
  #repeatsLeft = 0;
  #repeated = 0;
  /** The current packed run: how many are left, the offset of the group of eight, and the next number in it. */
  #packedLeft = 0;
  #group = 0;
  #next = 0;
  /** Set by `peek`: the next number, and how often it is repeated at least. */
  value = 0;
  count = 0;

  constructor(bytes: Uint8Array, width: number) {
    if (width > MAX_WIDTH) throw new Error(`a page has numbers of ${width} bits, the largest width is ${MAX_WIDTH}`);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#width = width;
  }

  /** Sets `value` and `count` to the next number and its repetitions, at most `max`, without consuming them. */
  peek(max: number): void {
    while (this.#repeatsLeft === 0 && this.#packedLeft === 0) this.#readRunHeader();
    if (this.#repeatsLeft > 0) {
      this.value = this.#repeated;
      this.count = Math.min(this.#repeatsLeft, max);
      return;
    }
    const end = Math.min(this.#packedLeft, max, BLOCK);
    const value = this.#unpack(this.#next);
    let count = 1;
    while (count < end && this.#unpack(this.#next + count) === value) count++;
    this.value = value;
    this.count = count;
  }

  /** Consumes `count` numbers, at most those found by `peek`. */
  skip(count: number): void {
    if (this.#repeatsLeft > 0) this.#repeatsLeft -= count;
    else this.#skipPacked(count);
    this.count -= count;
  }

  /** Replaces the next numbers, as indices, by the values of a table. */
  lookUp(table: FloatArray, into: FloatArray, from: number, count: number): void {
    for (let at = from; at < from + count; ) {
      while (this.#repeatsLeft === 0 && this.#packedLeft === 0) this.#readRunHeader();
      const left = from + count - at;
      if (this.#repeatsLeft > 0) {
        const some = Math.min(this.#repeatsLeft, left);
        if (this.#repeated >= table.length) throw dictionaryRangeError(this.#repeated, table);
        into.fill(table[this.#repeated] as number, at, at + some);
        this.#repeatsLeft -= some;
        at += some;
      } else {
        const some = Math.min(this.#packedLeft, left, BLOCK);
        this.#lookUpPacked(table, into, at, some);
        this.#skipPacked(some);
        at += some;
      }
    }
  }

  /** Reads words of four bytes where possible: they hold a number of up to 25 bits at any bit offset. */
  #lookUpPacked(table: FloatArray, into: FloatArray, from: number, count: number): void {
    const width = this.#width;
    const { length } = table;
    const end = from + count;
    let at = from;
    if (width <= 25) {
      const view = this.#view;
      const group = this.#group;
      const mask = 2 ** width - 1;
      const last = 8 * (view.byteLength - 4 - group);
      for (let bit = this.#next * width; at < end && bit < last; bit += width) {
        const number = (view.getUint32(group + (bit >>> 3), true) >>> (bit & 7)) & mask;
        if (number >= length) throw dictionaryRangeError(number, table);
        into[at++] = table[number] as number;
      }
    }
    for (const shift = from - this.#next; at < end; at++) {
      const number = this.#unpack(at - shift);
      if (number >= length) throw dictionaryRangeError(number, table);
      into[at] = table[number] as number;
    }
  }

  #skipPacked(count: number): void {
    const next = this.#next + count;
    this.#packedLeft -= count;
    this.#group += (next >>> 3) * this.#width;
    this.#next = next & 7;
  }

  /** Reads the next run's header. Each takes a byte, so empty runs end with the bytes. */
  #readRunHeader(): void {
    const header = this.#varint();
    const count = Math.floor(header / 2);
    if (header % 2 === 0) {
      let number = 0;
      for (let i = 0; i < Math.ceil(this.#width / 8); i++) number += this.#byte() * 256 ** i;
      this.#repeatsLeft = count;
      this.#repeated = number;
      return;
    }
    // Some writers omit unused bytes of the last group.
    const bytes = Math.min(count * this.#width, this.#bytes.length - this.#at);
    this.#packedLeft = this.#width === 0 ? 8 * count : Math.floor((8 * bytes) / this.#width);
    this.#group = this.#at;
    this.#next = 0;
    this.#at += bytes;
    if (this.#packedLeft === 0 && count > 0) throw truncatedError();
  }

  /** Returns the number at an index in the group, or in a following one. Bytes past the end count as 0. */
  #unpack(index: number): number {
    const bytes = this.#bytes;
    const width = this.#width;
    const bit = index * width;
    const at = this.#group + (bit >>> 3);
    const shift = bit & 7;
    if (shift + width <= 32) {
      const word =
        (bytes[at] as number) |
        ((bytes[at + 1] as number) << 8) |
        ((bytes[at + 2] as number) << 16) |
        ((bytes[at + 3] as number) << 24);
      return ((word >>> shift) & (width === 32 ? -1 : (1 << width) - 1)) >>> 0;
    }
    let number = 0;
    for (let i = 4; i >= 0; i--) number = number * 256 + (bytes[at + i] ?? 0);
    return Math.floor(number / 2 ** shift) % 2 ** width;
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new Error('a page has a run of more than 2^32');
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw truncatedError();
    return byte;
  }
}

type FloatArray = Float64Array | Float32Array;

const MAX_WIDTH = 32;
/** Numbers unpacked at a time, so that bit offsets fit in 31 bits. */
const BLOCK = 2 ** 20;

const truncatedError = (): Error => new Error('a page ends within its levels or dictionary indices');
const dictionaryRangeError = (number: number, { length }: FloatArray): Error =>
  new Error(`a page refers to value ${number} of a dictionary of ${length}`);
