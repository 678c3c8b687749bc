import type { Keyspace } from './keyspace.js';
import { widthOf } from './mask.js';
import { slowestFirst } from './order.js';
import { PlainWords } from './plain.js';
import type { Words } from './words.js';

/**
 * Returns the bytes of the words `[from, to)` of a space, each with a separator of `separator` bytes. Undefined if the
 * words must be made to find out: words of several lengths with a filter.
 */
export function outputBytes(space: Keyspace, from: bigint, to: bigint, separator: number): bigint | undefined {
  let bytes = 0n;
  for (const part of space.parts(from, to)) {
    const before = bytesBelow(part.words, part.from);
    const below = bytesBelow(part.words, part.to);
    if (before === undefined || below === undefined) return undefined;
    bytes += below - before + (part.to - part.from) * BigInt(separator);
  }
  return bytes;
}

/** Bytes of a mask's first words, without separators. */
function bytesBelow(words: Words, count: bigint): bigint | undefined {
  const width = widthOf(words.mask);
  if (width !== undefined) return count * BigInt(width);
  if (!(words instanceof PlainWords)) return undefined;
  let bytes = 0n;
  let placeValue = 1n;
  // For each position, from the fastest: how often each of its characters occurs in the first words.
  for (const position of slowestFirst(words.mask, words.order).toReversed()) {
    const lengths = (words.mask[position] ?? []).map(({ length }) => BigInt(length));
    const round = placeValue * BigInt(lengths.length);
    const sum = (some: readonly bigint[]): bigint => some.reduce((total, length) => total + length, 0n);
    const rest = count % round;
    const digit = Number(rest / placeValue);
    bytes += (count / round) * placeValue * sum(lengths);
    bytes += placeValue * sum(lengths.slice(0, digit)) + (rest % placeValue) * (lengths[digit] ?? 0n);
    placeValue = round;
  }
  return bytes;
}
