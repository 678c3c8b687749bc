import type { ByteString } from './charset.js';
import { type Filter, FilteredWords, isFiltering } from './filtered.js';
import { type Mask, maxWordBytes, widthOf } from './mask.js';
import type { Order } from './order.js';
import { PlainWords } from './plain.js';

/** The words of one mask in their order, each with its index. */
export interface Words {
  readonly mask: Mask;
  readonly order: Order;
  readonly size: bigint;
  wordAt(index: bigint): ByteString;
  /** Returns the smallest index that makes a word's bytes; undefined if there is none. */
  indexOf(word: ByteString): bigint | undefined;
  /** Writes `count` words from `start` on, each followed by the separator; returns the bytes written. */
  fill(into: Uint8Array, start: bigint, count: number, separator: ByteString): number;
}

export function wordsOf(mask: Mask, order: Order = 'canonical', filter: Filter = {}): Words {
  return isFiltering(filter) ? new FilteredWords(mask, order, filter) : new PlainWords(mask, order);
}

/** True if devices can make the words by tables alone: all of one length, no filter. */
export const isRegular = (words: Words): boolean => words instanceof PlainWords && widthOf(words.mask) !== undefined;

/** Returns the most bytes that `count` words take. */
export const maxBytes = ({ mask }: Words, count: number, separator: ByteString): number =>
  count * (maxWordBytes(mask) + separator.length);
