import { MillraceError } from '../../../kernel/error.js';

/** Bytes as text: each code unit is one byte. Masks and charsets use it for every encoding. */
export type Bytes = string;

/** Distinct characters in their order. A character is one byte, or with `utf8` the bytes of one code point. */
export type Charset = readonly Bytes[];

export interface Reading {
  /** Characters are those of UTF-8, not bytes. */
  readonly utf8?: boolean;
  /** Everything except `?x` is written in pairs of hexadecimal digits. */
  readonly hex?: boolean;
  /** Sorts custom charsets in ascending order of their bytes, as hashcat does; else they stay as given. */
  readonly sort?: boolean;
}

/** The built-in charsets by letter, ascending by byte. `?s` includes the space, `?a` is 0x20 to 0x7e. */
const builtIn: Readonly<Record<string, Charset>> = {
  l: span('a', 'z'),
  u: span('A', 'Z'),
  d: span('0', '9'),
  s: span(' ', '~').filter((character) => !/[0-9A-Za-z]/.test(character)),
  a: span(' ', '~'),
  b: span('\0', '\xff'),
  h: [...span('0', '9'), ...span('a', 'f')],
  H: [...span('0', '9'), ...span('A', 'F')],
};

/** Charsets by their number, 1 to 9. */
export type Customs = ReadonlyMap<number, Charset>;

/**
 * Parses charsets from their definitions. A definition may use the built-in ones and those with lower numbers. A repeated
 * character counts once, at its first place.
 */
export function customsOf(definitions: ReadonlyMap<number, Bytes>, reading: Reading = {}): Customs {
  const customs = new Map<number, Charset>();
  for (const [number, text] of [...definitions].sort(([a], [b]) => a - b)) {
    const known = (name: string): Charset | undefined => classOf(name, customs);
    const asked = `charset ${number}, ${show(text)}`;
    const characters = [...new Set(piecesOf(text, reading, known, asked).flat())];
    if (characters.length === 0) throw refuse('it is empty', asked, 'give at least one character');
    customs.set(number, reading.sort ? characters.sort() : characters);
  }
  return customs;
}

/** Returns the charset of a `?x`. */
export function classOf(name: string, customs: Customs): Charset | undefined {
  if (name === '?') return ['?'];
  return /^[1-9]$/.test(name) ? customs.get(Number(name)) : builtIn[name];
}

/** Splits a text into positions: a charset for each `?x`, one character for each literal. */
export function piecesOf(
  text: Bytes,
  reading: Reading,
  known: (name: string) => Charset | undefined,
  asked: string,
): Charset[] {
  const pieces: Charset[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === '?') {
      const name = text[at + 1];
      if (name === undefined) throw refuse('it ends in a single ?', asked, 'write ?? for a question mark');
      const charset = known(name);
      if (charset === undefined) throw unknown(name, asked);
      pieces.push(charset);
      at += 2;
    } else {
      const length = reading.hex ? 2 : reading.utf8 ? lengthAt(text, at, asked) : 1;
      const character = text.slice(at, at + length);
      pieces.push([reading.hex ? byteOfHex(character, asked) : character]);
      at += length;
    }
  }
  return pieces;
}

/** The UTF-8 of a text, as bytes. */
export const bytesOf = (text: string): Bytes => latin(new TextEncoder().encode(text));

/** Bytes of memory as text. */
export function latin(bytes: Uint8Array): Bytes {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

export const unlatin = (text: Bytes): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Formats bytes for messages: as text if printable, else in hexadecimal as hashcat writes it. */
export const show = (text: Bytes): string => (/^[ -~]*$/.test(text) ? JSON.stringify(text) : `$HEX[${hexOf(text)}]`);

export const hexOf = (text: Bytes): string =>
  [...text].map((character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join('');

function span(first: string, last: string): string[] {
  const from = first.charCodeAt(0);
  return Array.from({ length: last.charCodeAt(0) - from + 1 }, (_, at) => String.fromCharCode(from + at));
}

/** Returns the length in bytes of the UTF-8 character at an offset. */
function lengthAt(text: Bytes, at: number, asked: string): number {
  const lead = text.charCodeAt(at);
  const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  try {
    if (length > 0)
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(unlatin(text.slice(at, at + length)));
  } catch {
    throw notUtf8(at, asked);
  }
  if (length === 0 || at + length > text.length) throw notUtf8(at, asked);
  return length;
}

function byteOfHex(pair: Bytes, asked: string): Bytes {
  if (/^[0-9a-fA-F]{2}$/.test(pair)) return String.fromCharCode(Number.parseInt(pair, 16));
  throw refuse(`${show(pair)} is no pair of hexadecimal digits`, asked, 'write each byte as two digits, or ?x');
}

function unknown(name: string, asked: string): MillraceError {
  if (/^[1-9]$/.test(name)) {
    const advice = `define it with -${name}; inside a charset only those with lower numbers can be used`;
    return refuse(`charset ${name} is not defined`, asked, advice);
  }
  return refuse(`there is no charset ?${name}`, asked, '?l ?u ?d ?s ?a ?b ?h ?H ?1 to ?9, and ?? for a question mark');
}

const notUtf8 = (at: number, asked: string): MillraceError =>
  refuse(`byte ${at} begins no character of UTF-8`, asked, 'leave --utf8 out, and each byte is a character');

function refuse(message: string, asked: string, advice: string): MillraceError {
  return new MillraceError({ code: 'usage', message, asked, advice });
}
