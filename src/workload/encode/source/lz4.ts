/**
 * LZ4 as it stands in files: bare blocks (Parquet's LZ4_RAW) and frames (Arrow, which Feather uses unless told otherwise).
 * A block is a row of sequences: literals, then a match that repeats what came before. Input that is none throws.
 */
export function lz4Block(input: Uint8Array, bytes: number): Uint8Array {
  const output = new Output(Math.min(bytes, MOST_GAIN * input.length));
  decode(input, output);
  return output.taken();
}

const MAGIC = 0x184d2204;
/** Bits of a frame's first byte after the magic. */
const Flag = { dictionary: 1, contentChecksum: 4, contentSize: 8, blockChecksum: 16 } as const;
/** Set in a block's size where it is stored as it is. */
const STORED = 0x8000_0000;

/** Checksums are not looked at: the files have their own lengths, and values are checked. */
export function lz4Frame(input: Uint8Array): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  if (input.length < 7 || view.getUint32(0, true) !== MAGIC) throw new Error('this is no frame of LZ4');
  const flags = view.getUint8(4);
  if (flags & Flag.dictionary) throw new Error('a frame of LZ4 asks for a dictionary');
  const said = flags & Flag.contentSize ? Number(view.getBigUint64(6, true)) : 4 * input.length;
  const output = new Output(Math.min(said, MOST_GAIN * input.length));
  let at = 7 + (flags & Flag.contentSize ? 8 : 0);
  for (let size = view.getUint32(at, true); size !== 0; size = view.getUint32(at, true)) {
    const length = size % STORED;
    const block = input.subarray(at + 4, at + 4 + length);
    if (block.length < length) throw new Error('a frame of LZ4 is cut short');
    if (size >= STORED) output.put(block);
    else decode(block, output);
    at += 4 + length + (flags & Flag.blockChecksum ? 4 : 0);
  }
  return output.taken();
}

/** A byte of a length stands for 255 bytes at most: what says more of itself gets no more memory for it. */
const MOST_GAIN = 255;

/** Grows as it is written to. */
class Output {
  #bytes: Uint8Array;
  #length = 0;

  constructor(expected: number) {
    this.#bytes = new Uint8Array(Math.max(64, expected));
  }

  put(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Repeats what began so many bytes ago. It may run into what it writes: then that is repeated too. */
  repeat(distance: number, length: number): void {
    if (distance === 0 || distance > this.#length) throw new Error('LZ4 refers to what is not there');
    this.#room(length);
    for (let end = this.#length + length; this.#length < end; this.#length++) {
      this.#bytes[this.#length] = this.#bytes[this.#length - distance] ?? 0;
    }
  }

  taken(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + bytes));
    larger.set(this.taken());
    this.#bytes = larger;
  }
}

/** The shortest match; lengths are counted from it. */
const LEAST_MATCH = 4;

function decode(input: Uint8Array, output: Output): void {
  let at = 0;
  const byte = (): number => {
    const value = input[at++];
    if (value === undefined) throw new Error('a block of LZ4 is cut short');
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
  while (at < input.length) {
    const token = byte();
    const literals = lengthFrom(token >> 4);
    if (at + literals > input.length) throw new Error('a block of LZ4 is cut short');
    output.put(input.subarray(at, at + literals));
    at += literals;
    if (at === input.length) return; // the last sequence has no match
    const distance = byte() | (byte() << 8);
    output.repeat(distance, lengthFrom(token & 15) + LEAST_MATCH);
  }
}
