import type { Bytes } from './charset.js';
import { type Filter, FilteredWords, filters } from './filtered.js';
import { longestOf, type Mask, widthOf } from './mask.js';
import type { Order } from './order.js';
import { PlainWords } from './plain.js';

/** The words of one mask in their order, each with its index. */
export interface Words {
  readonly mask: Mask;
  readonly order: Order;
  readonly size: bigint;
  wordAt(index: bigint): Bytes;
  /** Returns the smallest index that makes a word's bytes; undefined if there is none. */
  indexOf(word: Bytes): bigint | undefined;
  /** Writes `count` words from `start` on, each followed by the separator; returns the bytes written. */
  fill(into: Uint8Array, start: bigint, count: number, separator: Bytes): number;
}

export function wordsOf(mask: Mask, order: Order = 'canonical', filter: Filter = {}): Words {
  return filters(filter) ? new FilteredWords(mask, order, filter) : new PlainWords(mask, order);
}

/** True if devices can make the words by tables alone: all of one length, no filter. */
export const isRegular = (words: Words): boolean => words instanceof PlainWords && widthOf(words.mask) !== undefined;

/** Returns the most bytes that `count` words take. */
export const mostBytes = ({ mask }: Words, count: number, separator: Bytes): number =>
  count * (longestOf(mask) + separator.length);
