import { MillraceError } from '../../../kernel/error.js';

/** Bytes as text: each code unit is one byte. Masks and charsets use it for every encoding. */
export type ByteString = string;

/** Distinct characters in their order. A character is one byte, or with `utf8` the bytes of one code point. */
export type Charset = readonly ByteString[];

export interface CharsetOptions {
  /** Characters are UTF-8 code points, not bytes. */
  readonly utf8?: boolean;
  /** Everything except `?x` is written in pairs of hexadecimal digits. */
  readonly hex?: boolean;
  /** Sorts custom charsets in ascending order of their bytes, as hashcat does; else they stay as given. */
  readonly sort?: boolean;
}

/** The built-in charsets by letter, ascending by byte. `?s` includes the space, `?a` is 0x20 to 0x7e. */
const builtIn: Readonly<Record<string, Charset>> = {
  l: charRange('a', 'z'),
  u: charRange('A', 'Z'),
  d: charRange('0', '9'),
  s: charRange(' ', '~').filter((character) => !/[0-9A-Za-z]/.test(character)),
  a: charRange(' ', '~'),
  b: charRange('\0', '\xff'),
  h: [...charRange('0', '9'), ...charRange('a', 'f')],
  H: [...charRange('0', '9'), ...charRange('A', 'F')],
};

/** Charsets by their number, 1 to 9. */
export type CustomCharsets = ReadonlyMap<number, Charset>;

/**
 * Parses charsets from their definitions. A definition may use the built-in ones and those with lower numbers. A repeated
 * character counts once, at its first position.
 */
export function parseCharsets(
  definitions: ReadonlyMap<number, ByteString>,
  options: CharsetOptions = {},
): CustomCharsets {
  const customs = new Map<number, Charset>();
  for (const [number, text] of [...definitions].sort(([a], [b]) => a - b)) {
    const known = (name: string): Charset | undefined => charsetNamed(name, customs);
    const asked = `charset ${number}, ${quoteBytes(text)}`;
    const characters = [...new Set(parsePositions(text, options, known, asked).flat())];
    if (characters.length === 0) throw usageError('the charset is empty', asked, 'give at least one character');
    customs.set(number, options.sort ? characters.sort() : characters);
  }
  return customs;
}

/** Returns the charset of a `?x`. */
export function charsetNamed(name: string, customs: CustomCharsets): Charset | undefined {
  if (name === '?') return ['?'];
  return /^[1-9]$/.test(name) ? customs.get(Number(name)) : builtIn[name];
}

/** Splits a text into positions: a charset for each `?x`, one character for each literal. */
export function parsePositions(
  text: ByteString,
  options: CharsetOptions,
  known: (name: string) => Charset | undefined,
  asked: string,
): Charset[] {
  const positions: Charset[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === '?') {
      const name = text[at + 1];
      if (name === undefined) throw usageError('the text ends in a single ?', asked, 'write ?? for a question mark');
      const charset = known(name);
      if (charset === undefined) throw unknownCharset(name, asked);
      positions.push(charset);
      at += 2;
    } else {
      const length = options.hex ? 2 : options.utf8 ? utf8LengthAt(text, at, asked) : 1;
      const character = text.slice(at, at + length);
      positions.push([options.hex ? parseHexByte(character, asked) : character]);
      at += length;
    }
  }
  return positions;
}

/** The UTF-8 of a text, as bytes. */
export const utf8ByteString = (text: string): ByteString => toByteString(new TextEncoder().encode(text));

/** Bytes of memory as text. */
export function toByteString(bytes: Uint8Array): ByteString {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

export const fromByteString = (text: ByteString): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Formats bytes for messages: as text if printable, else in hexadecimal as hashcat writes it. */
export const quoteBytes = (text: ByteString): string =>
  /^[ -~]*$/.test(text) ? JSON.stringify(text) : `$HEX[${hexOf(text)}]`;

export const hexOf = (text: ByteString): string =>
  [...text].map((character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join('');

function charRange(first: string, last: string): string[] {
  const from = first.charCodeAt(0);
  return Array.from({ length: last.charCodeAt(0) - from + 1 }, (_, at) => String.fromCharCode(from + at));
}

/** Returns the length in bytes of the UTF-8 character at an offset. */
function utf8LengthAt(text: ByteString, at: number, asked: string): number {
  const lead = text.charCodeAt(at);
  const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  try {
    if (length > 0)
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fromByteString(text.slice(at, at + length)));
  } catch {
    throw notUtf8(at, asked);
  }
  if (length === 0 || at + length > text.length) throw notUtf8(at, asked);
  return length;
}

function parseHexByte(pair: ByteString, asked: string): ByteString {
  if (/^[0-9a-fA-F]{2}$/.test(pair)) return String.fromCharCode(Number.parseInt(pair, 16));
  throw usageError(
    `${quoteBytes(pair)} is not a pair of hexadecimal digits`,
    asked,
    'write each byte as two digits, or ?x',
  );
}

function unknownCharset(name: string, asked: string): MillraceError {
  if (/^[1-9]$/.test(name)) {
    const advice = `define it with -${name}; inside a charset only those with lower numbers can be used`;
    return usageError(`charset ${name} is not defined`, asked, advice);
  }
  return usageError(
    `unknown charset ?${name}`,
    asked,
    'use ?l ?u ?d ?s ?a ?b ?h ?H, ?1 to ?9, or ?? for a question mark',
  );
}

const notUtf8 = (at: number, asked: string): MillraceError =>
  usageError(`invalid UTF-8 at byte ${at}`, asked, 'without --utf8, each byte is a character');

function usageError(message: string, asked: string, advice: string): MillraceError {
  return new MillraceError({ code: 'usage', message, asked, advice });
}
