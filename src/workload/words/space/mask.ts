import { MillraceError } from '../../../kernel/error.js';
import { type Bytes, type Charset, type Customs, classOf, piecesOf, type Reading, show } from './charset.js';

/** A charset for each position of a word. */
export type Mask = readonly Charset[];

/** Bytes of the longest word, without its separator. */
export const MOST_BYTES = 256;

/** Parses a mask: literals, `?x`, `??`. */
export function parseMask(text: Bytes, customs: Customs = new Map(), reading: Reading = {}): Mask {
  const asked = `the mask ${show(text)}`;
  const mask = piecesOf(text, reading, (name) => classOf(name, customs), asked);
  checkMask(mask, asked);
  return mask;
}

function checkMask(mask: Mask, asked: string): void {
  const bytes = mask.reduce((sum, charset) => sum + widest(charset), 0);
  if (mask.length >= 1 && bytes <= MOST_BYTES) return;
  throw new MillraceError({
    code: 'usage',
    message: mask.length === 0 ? 'a mask has at least one position' : `its words have ${bytes} bytes`,
    asked,
    advice: `words of 1 to ${MOST_BYTES} bytes can be made`,
  });
}

/** Returns the number of words. */
export const sizeOf = (mask: Mask): bigint => mask.reduce((product, charset) => product * BigInt(charset.length), 1n);

/** Returns the bytes of every word, or undefined if words differ in length. */
export function widthOf(mask: Mask): number | undefined {
  let width = 0;
  for (const charset of mask) {
    const bytes = charset[0]?.length ?? 0;
    if (charset.some((character) => character.length !== bytes)) return undefined;
    width += bytes;
  }
  return width;
}

const widest = (charset: Charset): number => charset.reduce((most, { length }) => Math.max(most, length), 0);

export const longestOf = (mask: Mask): number => mask.reduce((sum, charset) => sum + widest(charset), 0);

/** Returns the prefixes of the mask, for each length from `least` to `most`. */
export function prefixesOf(mask: Mask, least: number, most: number): Mask[] {
  return Array.from({ length: Math.max(0, Math.min(most, mask.length) - least + 1) }, (_, at) =>
    mask.slice(0, least + at),
  );
}
