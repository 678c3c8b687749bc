import { readFileSync } from 'node:fs';
import { between, MOST_INDICES, type Range } from '../../../engine/work/space.js';
import { MillraceError } from '../../../kernel/error.js';
import { type Bytes, bytesOf, customsOf, latin, type Reading, show, unlatin } from './charset.js';
import { filters } from './filtered.js';
import { Keyspace } from './keyspace.js';
import type { Layout } from './layout.js';
import { type Mask, parseMask, prefixesOf, widthOf } from './mask.js';
import { type Definitions, MOST_CHARSETS, parseMaskFile } from './mask-file.js';
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
  readonly increment?: { readonly least: number; readonly most: number };
  readonly maskFile?: string;
  readonly skip?: bigint;
  readonly limit?: bigint;
  readonly startWord?: string;
  readonly stopWord?: string;
  readonly format: Layout;
} & { readonly [K in `charset${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}`]?: string };

export interface Request {
  readonly space: Keyspace;
  readonly range: Range;
  readonly layout: Layout;
  /** Notes on input that is probably a mistake. */
  readonly warnings: readonly string[];
}

/** Parses a request. Finds every error before the first byte is written. */
export function requestOf(mask: string | undefined, options: RequestOptions): Request {
  const warnings: string[] = [];
  const { hexCharset = false, utf8 = false, order } = options;
  const reading: Reading = { hex: hexCharset, utf8, sort: options.sortCharsets === true || order === 'hashcat' };
  const definitions = definitionsOf(options);
  if (!utf8) warnings.push(...[...definitions].flatMap(([number, text]) => severalBytes(number, text)));
  const masks = masksOf(mask, options, definitions, reading);
  const { least, most } = options.increment ?? { least: undefined, most: undefined };
  const all = least === undefined ? masks : masks.flatMap((one) => prefixesOf(one, least, most ?? least));
  if (all.length === 0) {
    throw refuse('no mask is that long', `increment ${least}:${most}`, `the longest has ${longest(masks)} positions`);
  }
  checkLayout(all, options);
  const { maxRun, maxOccurrence } = options;
  const filter = { ...(maxRun !== undefined && { maxRun }), ...(maxOccurrence !== undefined && { maxOccurrence }) };
  const space = new Keyspace(all.map((one) => wordsOf(one, order, filter)));
  if (space.size === 0n && filters(filter)) warnings.push('the filter leaves no word');
  return { space, range: rangeOf(space, options), layout: options.format, warnings };
}

/** Parses a word from the command line: its characters, or `$HEX[…]`. */
export function wordGiven(text: string): Bytes {
  const [, hex] = /^\$HEX\[((?:[0-9a-fA-F]{2})*)\]$/.exec(text) ?? [];
  return hex === undefined ? bytesOf(text) : latin(Buffer.from(hex, 'hex'));
}

function masksOf(
  mask: string | undefined,
  options: RequestOptions,
  definitions: Definitions,
  reading: Reading,
): Mask[] {
  const { maskFile } = options;
  if ((mask === undefined) === (maskFile === undefined)) {
    const message = mask === undefined ? 'there is no mask' : 'a mask and a file of masks';
    throw refuse(message, mask === undefined ? 'words' : `${mask} and ${maskFile}`, 'give MASK or --mask-file FILE');
  }
  if (maskFile !== undefined) return parseMaskFile(readBytes(maskFile), maskFile, definitions, reading);
  return [parseMask(bytesOf(mask ?? ''), customsOf(definitions, reading), reading)];
}

/** Returns charset definitions by number. A text that ends in `.hcchr` names a file. */
function definitionsOf(options: RequestOptions): Definitions {
  const definitions = new Map<number, Bytes>();
  for (let number = 1; number <= MOST_CHARSETS; number++) {
    const text = options[`charset${number}` as 'charset1'];
    if (text === undefined) continue;
    definitions.set(number, text.endsWith('.hcchr') ? withoutLineEnd(readBytes(text)) : bytesOf(text));
  }
  return definitions;
}

/** Removes line ends at the end of a text. */
function withoutLineEnd(text: Bytes): Bytes {
  let end = text.length;
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end -= 1;
  return text.slice(0, end);
}

function readBytes(path: string): Bytes {
  try {
    return readFileSync(path, 'latin1');
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot read ${path}: ${(cause as Error).message}`,
      asked: path,
      advice: 'name a file that is there',
      cause,
    });
  }
}

/** Warns about characters outside ASCII, which are several bytes without `--utf8`. hashcat does not warn. */
function severalBytes(number: number, text: Bytes): string[] {
  if (/^[\0-\x7f]*$/.test(text)) return [];
  try {
    const characters = [...new TextDecoder('utf-8', { fatal: true }).decode(unlatin(text))].length;
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
  throw refuse('nothing would tell where a word ends', asked, 'use newline or nul, or masks of one length');
}

function rangeOf(space: Keyspace, { skip, limit, startWord, stopWord }: RequestOptions): Range {
  if (skip !== undefined && startWord !== undefined) throw both('--skip', '--start-word');
  if (limit !== undefined && stopWord !== undefined) throw both('--limit', '--stop-word');
  const start = startWord === undefined ? (skip ?? 0n) : indexOf(space, startWord, '--start-word');
  if (start > space.size) {
    throw refuse(
      'that is past the end',
      `--skip ${start}`,
      `there are ${space.size} words; --skip ${space.size} leaves none`,
    );
  }
  const last = stopWord === undefined ? undefined : indexOf(space, stopWord, '--stop-word');
  if (last !== undefined && last < start) {
    throw refuse('the last word comes before the first', `words from ${start} to ${last}`, 'exchange them');
  }
  const wanted = last === undefined ? limit : last + 1n - start;
  const rest = space.size - start;
  const length = wanted !== undefined && wanted < rest ? wanted : rest;
  return between(start, start + (length < MOST_INDICES ? length : MOST_INDICES));
}

function indexOf(space: Keyspace, text: string, option: string): bigint {
  const index = space.indexOf(wordGiven(text));
  if (index !== undefined) return index;
  throw refuse(`the word ${show(wordGiven(text))} is not among them`, `${option} ${text}`, 'give a word of the mask');
}

const longest = (masks: readonly Mask[]): number => Math.max(...masks.map(({ length }) => length));

const both = (one: string, other: string): MillraceError =>
  refuse('both say the same thing', `${one} and ${other}`, 'give one of them');

function refuse(message: string, asked: string, advice: string): MillraceError {
  return new MillraceError({ code: 'usage', message, asked, advice });
}
