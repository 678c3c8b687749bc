import { BYTES_PER_YIELD, type CodecOptions } from './codec.js';
import type { EventLoopTurns } from './event-loop-turns.js';

/**
 * LZ4 as used in files: bare blocks (Parquet's LZ4_RAW) and frames (Arrow, and Feather by default). A block is a series of
 * sequences: literals, then a match that repeats earlier output. Invalid input, or input for more than `bytes`, throws.
 */
export async function lz4Block(
  input: Uint8Array,
  bytes: number,
  { turns }: Pick<CodecOptions, 'turns'>,
): Promise<Uint8Array> {
  const output = new Output(input.length, bytes);
  await decode(input, output, turns);
  return output.result();
}

const MAGIC = 0x184d2204;
/** Bits of a frame's first byte after the magic. */
const Flag = { dictionary: 1, contentChecksum: 4, contentSize: 8, blockChecksum: 16 } as const;
/** Set in a block's size if the block is stored uncompressed. */
const STORED = 0x8000_0000;

/** Checksums are not checked: files have their own lengths, and values are checked. */
export async function lz4Frame(
  input: Uint8Array,
  bytes: number,
  { turns }: Pick<CodecOptions, 'turns'>,
): Promise<Uint8Array> {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  if (input.length < 7 || view.getUint32(0, true) !== MAGIC) throw new Error('not an LZ4 frame');
  const flags = view.getUint8(4);
  if (flags & Flag.dictionary) throw new Error('an LZ4 frame needs a dictionary, which is not supported');
  const output = new Output(input.length, bytes);
  let at = 7 + (flags & Flag.contentSize ? 8 : 0);
  const sizeAt = (): number => {
    if (at + 4 > input.length) throw new Error('an LZ4 frame is cut short');
    return view.getUint32(at, true);
  };
  for (let size = sizeAt(); size !== 0; size = sizeAt()) {
    const length = size % STORED;
    const block = input.subarray(at + 4, at + 4 + length);
    if (block.length < length) throw new Error('an LZ4 frame is cut short');
    if (size >= STORED) output.append(block);
    else await decode(block, output, turns);
    at += 4 + length + (flags & Flag.blockChecksum ? 4 : 0);
  }
  return output.result();
}

/** A length byte stands for at most 255 bytes, so n bytes of input get at most 255 n bytes of memory. */
const MAX_RATIO = 255;

class Output {
  readonly #bytes: Uint8Array;
  length = 0;

  constructor(input: number, bytes: number) {
    this.#bytes = new Uint8Array(Math.min(bytes, MAX_RATIO * input));
  }

  append(bytes: Uint8Array, from = 0, length = bytes.length): void {
    this.#check(length);
    if (length > MIN_BULK_COPY) this.#bytes.set(bytes.subarray(from, from + length), this.length);
    else for (let i = 0; i < length; i++) this.#bytes[this.length + i] = bytes[from + i] as number;
    this.length += length;
  }

  /** Repeats earlier output. The match may overlap what it writes, which is then repeated too. */
  copyMatch(distance: number, length: number): void {
    if (distance === 0 || distance > this.length) throw new Error('an LZ4 match refers to bytes before the output');
    this.#check(length);
    const from = this.length - distance;
    const end = this.length + length;
    // Byte by byte for some whole repetitions, then in bulk, twice as many each time.
    const byHand = Math.min(end, from + distance * Math.ceil(MIN_BULK_COPY / distance) + distance);
    for (; this.length < byHand; this.length++) this.#bytes[this.length] = this.#bytes[this.length - distance] ?? 0;
    while (this.length < end) {
      const some = Math.min(this.length - from, end - this.length);
      this.#bytes.copyWithin(this.length, from, from + some);
      this.length += some;
    }
  }

  result(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  #check(more: number): void {
    if (this.length + more > this.#bytes.length) throw new Error('LZ4 data is longer than expected');
  }
}

/** Fewer bytes are copied faster one by one. */
const MIN_BULK_COPY = 64;
/** The shortest match; lengths are counted from it. */
const MIN_MATCH = 4;

async function decode(input: Uint8Array, output: Output, turns: EventLoopTurns): Promise<void> {
  let at = 0;
  const byte = (): number => {
    const value = input[at++];
    if (value === undefined) throw new Error('an LZ4 block is cut short');
    return value;
  };
  /** Four bits of the token; where they are all set, bytes follow, up to the first that is not 255. */
  const lengthFrom = (nibble: number): number => {
    let length = nibble;
    if (nibble === 15) {
      let more: number;
      do {
        more = byte();
        length += more;
      } while (more === 255);
    }
    return length;
  };
  let turnAt = output.length + BYTES_PER_YIELD;
  while (at < input.length) {
    const token = byte();
    const literals = lengthFrom(token >> 4);
    if (at + literals > input.length) throw new Error('an LZ4 block is cut short');
    output.append(input, at, literals);
    at += literals;
    if (at === input.length) return; // the last sequence has no match
    const distance = byte() | (byte() << 8);
    output.copyMatch(distance, lengthFrom(token & 15) + MIN_MATCH);
    if (output.length < turnAt) continue;
    await turns.yieldIfDue();
    turnAt = output.length + BYTES_PER_YIELD;
  }
}
