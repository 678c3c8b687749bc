import { BYTES_PER_YIELD, type CodecOptions } from './codec.js';

/**
 * Snappy, the default compression of Parquet: literals, and copies of earlier output. Floats that do not repeat are literals
 * of 64 KiB, which are copied whole.
 */
export async function snappy(input: Uint8Array, bytes: number, { allocate, turns }: CodecOptions): Promise<Uint8Array> {
  let at = 0;
  const byte = (): number => {
    const value = input[at++];
    if (value === undefined) throw cutShort();
    return value;
  };
  const little = (count: number): number => {
    let value = 0;
    for (let i = 0; i < count; i++) value += byte() * 256 ** i;
    return value;
  };
  let size = 0;
  for (let scale = 1, more = true; more; scale *= 128) {
    const part = byte();
    size += (part & 127) * scale;
    more = part >= 128;
    if (size >= 2 ** 32) throw new Error('Snappy data claims more than 2^32 bytes');
  }
  // Three bytes make at most 64: no memory is allocated for a larger claim.
  if (size !== bytes || size > MAX_RATIO * input.length)
    throw new Error('Snappy data claims another length than its page');
  const output = allocate(size);
  let to = 0;
  let turnAt = BYTES_PER_YIELD;
  while (at < input.length) {
    if (to >= turnAt) {
      await turns.yieldIfDue();
      turnAt = to + BYTES_PER_YIELD;
    }
    const tag = byte();
    const kind = tag & 3;
    if (kind === Kind.literal) {
      const short = tag >>> 2;
      const length = (short < LONG_LITERAL ? short : little(short - LONG_LITERAL + 1)) + 1;
      if (length > input.length - at) throw cutShort();
      if (length > size - to) throw tooLong();
      if (length > MIN_BULK_COPY) output.set(input.subarray(at, at + length), to);
      else for (let i = 0; i < length; i++) output[to + i] = input[at + i] as number;
      at += length;
      to += length;
      continue;
    }
    const length = kind === Kind.near ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    const distance = kind === Kind.near ? (tag >>> 5) * 256 + byte() : little(kind === Kind.far ? 2 : 4);
    if (distance === 0 || distance > to) throw new Error('a Snappy copy refers to bytes before the output');
    if (length > size - to) throw tooLong();
    // The copy may overlap what it writes, which is then repeated too.
    for (const end = to + length; to < end; to++) output[to] = output[to - distance] as number;
  }
  if (to !== size) throw cutShort();
  return output;
}

/** The two lowest bits of each element: a copy has its distance in 11 bits, in two bytes or in four. */
const Kind = { literal: 0, near: 1, far: 2 } as const;
/** From here on a literal's length is in the bytes that follow. */
const LONG_LITERAL = 60;
/** Fewer bytes are copied faster one by one. */
const MIN_BULK_COPY = 48;
const MAX_RATIO = 64 / 3 + 1;

const cutShort = (): Error => new Error('Snappy data is cut short');
const tooLong = (): Error => new Error('Snappy data is longer than it claims');
