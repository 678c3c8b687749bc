import type { ByteString } from './charset.js';
import type { Words } from './words.js';

/** Concatenates the words of several masks into one space: an index selects a mask and one of its words. */
export class Keyspace {
  readonly segments: readonly Segment[];
  readonly size: bigint;

  constructor(all: readonly Words[]) {
    const segments: Segment[] = [];
    let start = 0n;
    for (const words of all) {
      if (words.size === 0n) continue;
      segments.push({ words, start });
      start += words.size;
    }
    this.segments = segments;
    this.size = start;
  }

  /** Undefined outside the space. */
  wordAt(index: bigint): ByteString | undefined {
    const [part] = this.parts(index, index + 1n);
    return part && index >= 0n ? part.words.wordAt(part.from) : undefined;
  }

  /** The smallest index of a word. */
  indexOf(word: ByteString): bigint | undefined {
    for (const { words, start } of this.segments) {
      const index = words.indexOf(word);
      if (index !== undefined) return start + index;
    }
    return undefined;
  }

  /** Returns the parts of each mask that lie in `[from, to)`. */
  parts(from: bigint, to: bigint): KeyspacePart[] {
    return this.segments.flatMap(({ words, start }) => {
      const first = from > start ? from - start : 0n;
      const end = to - start < words.size ? to - start : words.size;
      return first < end ? [{ words, start, from: first, to: end }] : [];
    });
  }
}

export interface Segment {
  readonly words: Words;
  /** The index of its first word. */
  readonly start: bigint;
}

/** Some words of one mask, `from` to `to` among its own. */
export interface KeyspacePart extends Segment {
  readonly from: bigint;
  readonly to: bigint;
}
