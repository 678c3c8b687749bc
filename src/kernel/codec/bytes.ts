import { MillraceError } from '../error.js';

/** Bytes that are written from start to end. */
export class ByteWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Seven bits a byte, lowest first; the uppermost bit says that more follow. */
  number(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }

  bigint(value: bigint): void {
    let rest = value;
    while (rest >= 0x80n) {
      this.byte(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.byte(Number(rest));
  }

  /** Four bytes, lowest first. */
  word(value: number): void {
    for (let shift = 0; shift < 32; shift += 8) this.byte((value >>> shift) & 0xff);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  text(value: string): void {
    const bytes = new TextEncoder().encode(value);
    this.number(bytes.length);
    this.raw(bytes);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Reads bytes from elsewhere. Nothing is allocated by a length that the remaining bytes cannot fill. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw malformed('the bytes end too early');
    this.#at++;
    return value;
  }

  /** A number of 32 bits. */
  number(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80 && value < 2 ** 32) return value;
    }
    throw malformed('a number has more than 32 bits');
  }

  bigint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80 && value < 1n << 64n) return value;
    }
    throw malformed('a number has more than 64 bits');
  }

  word(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 32; scale *= 0x100) value += this.byte() * scale;
    return value;
  }

  /** A number of things, each of which takes at least one byte. */
  count(): number {
    const count = this.number();
    if (count > this.left) throw malformed(`${count} entries in ${this.left} bytes`);
    return count;
  }

  text(): string {
    const length = this.count();
    const bytes = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
      throw malformed('a string is not UTF-8', cause);
    }
  }
}

/** The error for bytes that are not an encoded kernel. */
export const malformed = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `not an encoded kernel: ${message}`,
    advice: 'give the bytes that encodeKernel() returned',
    ...(cause === undefined ? {} : { cause }),
  });
