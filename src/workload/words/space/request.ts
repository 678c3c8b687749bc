import { readFileSync } from 'node:fs';
import { between, MAX_INDICES, type Range } from '../../../engine/work/space.js';
import { MillraceError } from '../../../kernel/error.js';
import {
  type ByteString,
  type CharsetOptions,
  fromByteString,
  parseCharsets,
  quoteBytes,
  toByteString,
  utf8ByteString,
} from './charset.js';
import { isFiltering } from './filtered.js';
import { Keyspace } from './keyspace.js';
import type { Layout } from './layout.js';
import { type Mask, parseMask, prefixesOf, widthOf } from './mask.js';
import { type CharsetDefinitions, MAX_CHARSETS, parseMaskFile } from './mask-file.js';
import type { Order } from './order.js';
import { wordsOf } from './words.js';

/** Command line options that select the words. */
export type RequestOptions = {
  readonly hexCharset?: boolean;
  readonly utf8?: boolean;
  readonly sortCharsets?: boolean;
  readonly order: Order;
  readonly maxRun?: number;
  readonly maxOccurrence?: number;
  readonly increment?: { readonly min: number; readonly max: number };
  readonly maskFile?: string;
  readonly skip?: bigint;
  readonly limit?: bigint;
  readonly startWord?: string;
  readonly stopWord?: string;
  readonly format: Layout;
} & { readonly [K in `charset${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}`]?: string };

export interface WordRequest {
  readonly space: Keyspace;
  readonly range: Range;
  readonly layout: Layout;
  /** Notes on input that is probably a mistake. */
  readonly warnings: readonly string[];
}

/** Parses a request. Finds every error before the first byte is written. */
export function parseRequest(mask: string | undefined, options: RequestOptions): WordRequest {
  const warnings: string[] = [];
  const { hexCharset = false, utf8 = false, order } = options;
  const charsetOptions: CharsetOptions = {
    hex: hexCharset,
    utf8,
    sort: options.sortCharsets === true || order === 'hashcat',
  };
  const definitions = definitionsOf(options);
  if (!utf8) warnings.push(...[...definitions].flatMap(([number, text]) => multibyteWarnings(number, text)));
  const masks = masksOf(mask, options, definitions, charsetOptions);
  const { min, max } = options.increment ?? { min: undefined, max: undefined };
  const all = min === undefined ? masks : masks.flatMap((one) => prefixesOf(one, min, max ?? min));
  if (all.length === 0) {
    throw usageError(
      'no mask is that long',
      `increment ${min}:${max}`,
      `the longest has ${maxPositions(masks)} positions`,
    );
  }
  checkLayout(all, options);
  const { maxRun, maxOccurrence } = options;
  const filter = { ...(maxRun !== undefined && { maxRun }), ...(maxOccurrence !== undefined && { maxOccurrence }) };
  const space = new Keyspace(all.map((one) => wordsOf(one, order, filter)));
  if (space.size === 0n && isFiltering(filter)) warnings.push('the filter excludes all words');
  return { space, range: rangeOf(space, options), layout: options.format, warnings };
}

/** Parses a word from the command line: its characters, or `$HEX[…]`. */
export function parseWord(text: string): ByteString {
  const [, hex] = /^\$HEX\[((?:[0-9a-fA-F]{2})*)\]$/.exec(text) ?? [];
  return hex === undefined ? utf8ByteString(text) : toByteString(Buffer.from(hex, 'hex'));
}

function masksOf(
  mask: string | undefined,
  options: RequestOptions,
  definitions: CharsetDefinitions,
  charsetOptions: CharsetOptions,
): Mask[] {
  const { maskFile } = options;
  if ((mask === undefined) === (maskFile === undefined)) {
    const message = mask === undefined ? 'no mask was given' : 'both a mask and a mask file were given';
    throw usageError(
      message,
      mask === undefined ? 'words' : `${mask} and ${maskFile}`,
      'give MASK or --mask-file FILE',
    );
  }
  if (maskFile !== undefined) return parseMaskFile(readBytes(maskFile), maskFile, definitions, charsetOptions);
  return [parseMask(utf8ByteString(mask ?? ''), parseCharsets(definitions, charsetOptions), charsetOptions)];
}

/** Returns charset definitions by number. A text that ends in `.hcchr` names a file. */
function definitionsOf(options: RequestOptions): CharsetDefinitions {
  const definitions = new Map<number, ByteString>();
  for (let number = 1; number <= MAX_CHARSETS; number++) {
    const text = options[`charset${number}` as 'charset1'];
    if (text === undefined) continue;
    definitions.set(number, text.endsWith('.hcchr') ? withoutLineEnd(readBytes(text)) : utf8ByteString(text));
  }
  return definitions;
}

/** Removes line ends at the end of a text. */
function withoutLineEnd(text: ByteString): ByteString {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end -= 1;
  return text.slice(0, end);
}

function readBytes(path: string): ByteString {
  try {
    return readFileSync(path, 'latin1');
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot read ${path}: ${(cause as Error).message}`,
      asked: path,
      advice: 'name a file that exists',
      cause,
    });
  }
}

/** Warns about characters outside ASCII, which are several bytes without `--utf8`. hashcat does not warn. */
function multibyteWarnings(number: number, text: ByteString): string[] {
  if (/^[\0-\x7f]*$/.test(text)) return [];
  try {
    const characters = [...new TextDecoder('utf-8', { fatal: true }).decode(fromByteString(text))].length;
    return [
      `charset ${number} has ${text.length} bytes, each a character; with --utf8 it has ${characters} characters`,
    ];
  } catch {
    return [];
  }
}

function checkLayout(masks: readonly Mask[], { format }: RequestOptions): void {
  if (format !== 'packed') return;
  const widths = new Set(masks.map(widthOf));
  if (widths.size === 1 && !widths.has(undefined)) return;
  const asked = '--format packed for words of several lengths';
  throw usageError(
    'packed words must have one length: nothing shows where a word ends',
    asked,
    'use newline or nul, or masks of one length',
  );
}

function rangeOf(space: Keyspace, { skip, limit, startWord, stopWord }: RequestOptions): Range {
  if (skip !== undefined && startWord !== undefined) throw duplicateOptions('--skip', '--start-word');
  if (limit !== undefined && stopWord !== undefined) throw duplicateOptions('--limit', '--stop-word');
  const start = startWord === undefined ? (skip ?? 0n) : indexOf(space, startWord, '--start-word');
  if (start > space.size) {
    throw usageError(
      `index ${start} is past the end`,
      `--skip ${start}`,
      `there are ${space.size} words; --skip ${space.size} leaves none`,
    );
  }
  const last = stopWord === undefined ? undefined : indexOf(space, stopWord, '--stop-word');
  if (last !== undefined && last < start) {
    throw usageError('the last word comes before the first', `words from ${start} to ${last}`, 'swap them');
  }
  const requested = last === undefined ? limit : last + 1n - start;
  const rest = space.size - start;
  const length = requested !== undefined && requested < rest ? requested : rest;
  return between(start, start + (length < MAX_INDICES ? length : MAX_INDICES));
}

function indexOf(space: Keyspace, text: string, option: string): bigint {
  const index = space.indexOf(parseWord(text));
  if (index !== undefined) return index;
  throw usageError(
    `the word ${quoteBytes(parseWord(text))} is not in the keyspace`,
    `${option} ${text}`,
    'give a word of the mask',
  );
}

const maxPositions = (masks: readonly Mask[]): number => Math.max(...masks.map(({ length }) => length));

const duplicateOptions = (one: string, other: string): MillraceError =>
  usageError('these options exclude each other', `${one} and ${other}`, 'give one of them');

function usageError(message: string, asked: string, advice: string): MillraceError {
  return new MillraceError({ code: 'usage', message, asked, advice });
}
