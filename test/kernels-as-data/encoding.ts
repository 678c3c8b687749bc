import type { Random } from '../../src/device/conformance/model/random.js';
import { ByteReader } from '../../src/kernel/codec/bytes.js';
import { decodeRecording } from '../../src/kernel/codec/decode.js';
import { BodyDecoder } from '../../src/kernel/codec/decode-body.js';
import { DecodeContext } from '../../src/kernel/codec/decode-context.js';
import { encodeKernel, type Kernel } from '../../src/kernel/index.js';
import { defaultKernelLimits } from '../../src/kernel/ir/limits.js';

/** Bytes from `from` up to `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A number of entries, then the entries: strings, fields, buffers, tables, bodies, arguments. */
export interface ListSpan extends Span {
  readonly entries: readonly Span[];
}

/** An encoded kernel and where its parts are. */
export interface Encoding {
  readonly bytes: Uint8Array;
  readonly numbers: readonly (Span & { readonly value: number })[];
  readonly lists: readonly ListSpan[];
  /** The statements of a body, a function or a branch, and the byte that ends them. */
  readonly blocks: readonly Span[];
  /** Every place between two values of the format. */
  readonly boundaries: readonly number[];
}

/** Encodes a kernel with its source lines, and without. */
export const encodings = (kernel: Kernel): Encoding[] =>
  [true, false].map((origins) => readParts(encodeKernel(kernel, { origins })));

/** Reads an encoding with a decoder that notes where it is. */
function readParts(bytes: Uint8Array): Encoding {
  const numbers: (Span & { value: number })[] = [];
  const lists: ListSpan[] = [];
  const blocks: Span[] = [];
  const boundaries = new Set<number>();
  const position = (reader: ByteReader): number => bytes.length - reader.left;
  const { number, byte } = ByteReader.prototype;
  const { list } = DecodeContext.prototype;
  const { block } = BodyDecoder.prototype;
  let isInNumber = false;
  let reader: ByteReader | undefined;
  ByteReader.prototype.byte = function (this: ByteReader) {
    if (!isInNumber) boundaries.add(position(this));
    return byte.call(this);
  };
  ByteReader.prototype.number = function (this: ByteReader) {
    const from = position(this);
    boundaries.add(from);
    isInNumber = true;
    const value = number.call(this);
    isInNumber = false;
    numbers.push({ from, to: position(this), value });
    return value;
  };
  DecodeContext.prototype.list = function <T>(this: DecodeContext, entry: (at: number) => T): T[] {
    reader = this.reader;
    const [from, entries]: [number, Span[]] = [position(this.reader), []];
    const made = list.call(this, (at: number) => {
      const start = position(this.reader);
      const value = entry(at);
      entries.push({ from: start, to: position(this.reader) });
      return value;
    }) as T[];
    lists.push({ from, to: position(this.reader), entries });
    return made;
  };
  BodyDecoder.prototype.block = function (this: BodyDecoder, depth: number) {
    const from = reader ? position(reader) : 0;
    const made = block.call(this, depth);
    blocks.push({ from, to: reader ? position(reader) : 0 });
    return made;
  };
  try {
    decodeRecording(bytes, defaultKernelLimits);
    return { bytes, numbers, lists, blocks, boundaries: [...boundaries, bytes.length] };
  } finally {
    Object.assign(ByteReader.prototype, { number, byte });
    Object.assign(DecodeContext.prototype, { list });
    Object.assign(BodyDecoder.prototype, { block });
  }
}

/** Seven bits a byte; `extra` bytes more than needed. */
export function numberBytes(value: number, extra = 0): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  for (let left = extra; left > 0; left--) {
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) | 0x80;
    bytes.push(0);
  }
  return bytes;
}

/** Replaces spans, which do not overlap, by other bytes. */
export function replaceSpans(
  bytes: Uint8Array,
  edits: readonly (Span & { readonly by: Iterable<number> })[],
): Uint8Array {
  const result: number[] = [];
  let at = 0;
  for (const { from, to, by } of edits.toSorted((a, b) => a.from - b.from)) {
    if (from < at) continue; // inside the previous one
    result.push(...bytes.subarray(at, from), ...by);
    at = to;
  }
  return Uint8Array.from([...result, ...bytes.subarray(at)]);
}

/** Two different members of a list, in their order. */
export function pickTwo<T>(random: Random, list: readonly T[]): readonly [T, T] | undefined {
  if (list.length < 2) return undefined;
  const first = random.below(list.length - 1);
  const second = first + 1 + random.below(list.length - 1 - first);
  return [list[first] as T, list[second] as T];
}
