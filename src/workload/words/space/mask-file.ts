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
  given: CharsetDefinitions,
  reading: CharsetOptions = {},
): Mask[] {
  const masks = linesOf(content).flatMap(({ text, line }) => {
    const fields = fieldsOf(text);
    const mask = fields.pop() ?? '';
    const where = `${name}:${line}`;
    if (fields.length > MAX_CHARSETS) throw tooManyCharsets(fields.length, where);
    const definitions = new Map([...given, ...fields.map((field, at) => [at + 1, field] as const)]);
    return withLocation(where, () => [parseMask(mask, parseCharsets(definitions, reading), reading)]);
  });
  if (masks.length > 0) return masks;
  throw new MillraceError({
    code: 'input-format',
    message: `${name} has no mask`,
    asked: name,
    advice: 'write one a line',
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
function withLocation<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof MillraceError)) throw cause;
    const asked = cause.asked === undefined ? where : `${cause.asked} in ${where}`;
    const advice = cause.advice === undefined ? {} : { advice: cause.advice };
    throw new MillraceError({ code: 'input-format', message: `${where}: ${cause.summary}`, asked, ...advice, cause });
  }
}

const tooManyCharsets = (count: number, where: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `${where}: ${count} charsets before the mask`,
    asked: where,
    advice: `${MAX_CHARSETS} at most; a comma that is meant is written ${quoteBytes('\\,')}`,
  });
