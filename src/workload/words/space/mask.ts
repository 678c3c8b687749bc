import { MillraceError } from '../../../kernel/error.js';
import {
  type ByteString,
  type Charset,
  type CharsetOptions,
  type CustomCharsets,
  charsetNamed,
  parsePositions,
  quoteBytes,
} from './charset.js';

/** A charset for each position of a word. */
export type Mask = readonly Charset[];

/** Bytes of the longest word, without its separator. */
export const MAX_WORD_BYTES = 256;

/** Parses a mask: literals, `?x`, `??`. */
export function parseMask(text: ByteString, customs: CustomCharsets = new Map(), options: CharsetOptions = {}): Mask {
  const asked = `the mask ${quoteBytes(text)}`;
  const mask = parsePositions(text, options, (name) => charsetNamed(name, customs), asked);
  checkMask(mask, asked);
  return mask;
}

function checkMask(mask: Mask, asked: string): void {
  const bytes = mask.reduce((sum, charset) => sum + maxCharacterBytes(charset), 0);
  if (mask.length >= 1 && bytes <= MAX_WORD_BYTES) return;
  throw new MillraceError({
    code: 'usage',
    message: mask.length === 0 ? 'a mask has at least one position' : `words of this mask have ${bytes} bytes`,
    asked,
    advice: `use a mask for words of 1 to ${MAX_WORD_BYTES} bytes`,
  });
}

/** Returns the number of words. */
export const wordCount = (mask: Mask): bigint =>
  mask.reduce((product, charset) => product * BigInt(charset.length), 1n);

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

const maxCharacterBytes = (charset: Charset): number => charset.reduce((max, { length }) => Math.max(max, length), 0);

export const maxWordBytes = (mask: Mask): number => mask.reduce((sum, charset) => sum + maxCharacterBytes(charset), 0);

/** Returns the prefixes of the mask, for each length from `min` to `max`. */
export function prefixesOf(mask: Mask, min: number, max: number): Mask[] {
  return Array.from({ length: Math.max(0, Math.min(max, mask.length) - min + 1) }, (_, at) => mask.slice(0, min + at));
}
