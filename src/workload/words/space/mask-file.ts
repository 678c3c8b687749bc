import { MillraceError } from '../../../kernel/error.js';
import { type ByteString, type CharsetOptions, parseCharsets, quoteBytes } from './charset.js';
import { type Mask, parseMask } from './mask.js';

/**
 * Parses a `.hcmask` file, a mask per line: `charset 1,charset 2,…,mask`. `#` begins a comment, `\#` and `\,` are the
 * characters themselves; empty lines and a byte order mark are skipped. The charsets of a line override those of the
 * command line with the same numbers.
 */
export function parseMaskFile(
  content: ByteString,
  name: string,
  defaults: CharsetDefinitions,
  options: CharsetOptions = {},
): Mask[] {
  const masks = linesOf(content).flatMap(({ text, line }) => {
    const fields = fieldsOf(text);
    const mask = fields.pop() ?? '';
    const location = `${name}:${line}`;
    if (fields.length > MAX_CHARSETS) throw tooManyCharsets(fields.length, location);
    const definitions = new Map([...defaults, ...fields.map((field, at) => [at + 1, field] as const)]);
    return withLocation(location, () => [parseMask(mask, parseCharsets(definitions, options), options)]);
  });
  if (masks.length > 0) return masks;
  throw new MillraceError({
    code: 'input-format',
    message: `${name} has no mask`,
    asked: name,
    advice: 'write one mask per line',
  });
}

export type CharsetDefinitions = ReadonlyMap<number, ByteString>;

export const MAX_CHARSETS = 9;

function linesOf(content: ByteString): { readonly text: ByteString; readonly line: number }[] {
  return content
    .replace(/^\xef\xbb\xbf/, '')
    .split('\n')
    .map((text, at) => ({ text: text.replace(/\r$/, ''), line: at + 1 }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'));
}

/** Splits at commas that are not escaped by a backslash. */
function fieldsOf(text: ByteString): ByteString[] {
  return text.split(/(?<!\\),/).map((field) => field.replace(/\\([,#])/g, '$1'));
}

/** Adds the line to an error. */
function withLocation<T>(location: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof MillraceError)) throw cause;
    const asked = cause.asked === undefined ? location : `${cause.asked} in ${location}`;
    const advice = cause.advice === undefined ? {} : { advice: cause.advice };
    throw new MillraceError({
      code: 'input-format',
      message: `${location}: ${cause.summary}`,
      asked,
      ...advice,
      cause,
    });
  }
}

const tooManyCharsets = (count: number, location: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `${location}: ${count} charsets before the mask`,
    asked: location,
    advice: `use at most ${MAX_CHARSETS}; write a literal comma as ${quoteBytes('\\,')}`,
  });
