import type { Precision } from '../../kernel/encoding.js';
import { RunReader } from './run-reader.js';

export type FloatArray = Float64Array | Float32Array;

/** The values of a page. Each is read once, in order. */
export interface PageValues {
  read(into: FloatArray, at: number, count: number): void;
}

/** Encodings of values, by their numbers in the format. Floats have no others. */
const Encoding = { plain: 0, plainDictionary: 2, runsDictionary: 8, split: 9 } as const;

export function valuesIn(bytes: Uint8Array, encoding: number, dictionary: FloatArray | undefined): PageValues {
  if (encoding === Encoding.plain) return new PlainValues(bytes);
  if (encoding === Encoding.split) return new ByteStreamSplitValues(bytes);
  if (encoding !== Encoding.plainDictionary && encoding !== Encoding.runsDictionary) {
    throw new Error(`encoding ${encoding} is not valid for floats`);
  }
  if (dictionary === undefined) throw new Error('a page needs a dictionary, but the column has none');
  const [width] = bytes;
  // A page of nulls may be empty.
  const indices = new RunReader(bytes.subarray(1), width ?? 0);
  return { read: (into, at, count) => indices.lookUp(dictionary, into, at, count) };
}

/** Reads a dictionary. It is copied, because the memory of pages is reused. */
export function dictionaryIn(bytes: Uint8Array, entries: number, encoding: number, precision: Precision): FloatArray {
  if (encoding !== Encoding.plain && encoding !== Encoding.plainDictionary) {
    throw new Error(`encoding ${encoding} is not valid for dictionaries`);
  }
  const size = precision === 'f64' ? 8 : 4;
  if (entries * size > bytes.length) throw truncatedError();
  const values = precision === 'f64' ? new Float64Array(entries) : new Float32Array(entries);
  new PlainValues(bytes).read(values, 0, entries);
  return values;
}

/** Values stored as in memory, except for alignment. */
class PlainValues implements PageValues {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(into: FloatArray, at: number, count: number): void {
    const size = into.BYTES_PER_ELEMENT;
    const end = this.#at + count * size;
    if (end > this.#bytes.length) throw truncatedError();
    copy(this.#bytes.subarray(this.#at, end), new Uint8Array(into.buffer, into.byteOffset + at * size, count * size));
    this.#at = end;
  }
}

/**
 * V8 copies to shared memory byte by byte, 1.5 GB/s, unless both sides have the same alignment to eight bytes: then 9.7
 * GB/s. Other bytes are first moved within unshared memory (15 GB/s), as many at a time as stay in the cache.
 */
function copy(from: Uint8Array, into: Uint8Array): void {
  const isShared = into.buffer instanceof SharedArrayBuffer;
  if (!isShared || (from.byteOffset - into.byteOffset) % 8 === 0) {
    into.set(from);
    return;
  }
  const scratch = new Uint8Array(SCRATCH, into.byteOffset % 8);
  for (let at = 0; at < from.length; at += SCRATCH_BYTES) {
    const some = scratch.subarray(0, Math.min(SCRATCH_BYTES, from.length - at));
    some.set(from.subarray(at, at + some.length));
    into.set(some, at);
  }
}

const SCRATCH_BYTES = 65_536;
const SCRATCH = new ArrayBuffer(SCRATCH_BYTES + 8);

/** The first bytes of all values, then their second ones, and so on. */
class ByteStreamSplitValues implements PageValues {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(into: FloatArray, at: number, count: number): void {
    const size = into.BYTES_PER_ELEMENT;
    const each = Math.floor(this.#bytes.length / size);
    if (this.#at + count > each) throw truncatedError();
    const words = new Int32Array(into.buffer, into.byteOffset + at * size, (count * size) / 4);
    const perValue = size / 4;
    for (let word = 0; word < perValue; word++) {
      const part = (k: number) => this.#bytes.subarray((4 * word + k) * each + this.#at);
      joinBytes([part(0), part(1), part(2), part(3)], words, word, perValue, count);
    }
    this.#at += count;
  }
}

/** Joins the bytes of each word, and stores a word at every `step`th index. */
function joinBytes(parts: readonly Uint8Array[], words: Int32Array, from: number, step: number, count: number): void {
  const [a, b, c, d] = parts as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  for (let i = 0, to = from; i < count; i++, to += step) {
    words[to] = (a[i] as number) | ((b[i] as number) << 8) | ((c[i] as number) << 16) | ((d[i] as number) << 24);
  }
}

const truncatedError = (): Error => new Error('a page has fewer values than its header says');
