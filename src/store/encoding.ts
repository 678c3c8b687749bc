import { createHash } from 'node:crypto';

/**
 * How values stand in the ledger: as text that a person can read with any SQLite tool, exact, and in an order that
 * `ORDER BY` keeps. SQLite's integers end at 2^63; indices go to 2^128.
 */

/** An index, or the end of a range: 39 digits, enough for 2^128. */
export const indexText = (index: bigint): string => index.toString().padStart(INDEX_DIGITS, '0');

export const indexOf = (text: string): bigint => BigInt(text);

const INDEX_DIGITS = (1n << 128n).toString().length;

/** JSON for values that JSON lacks: bigints, and floats that are no numbers to it. Exact in both directions. */
export function spell(value: unknown): string {
  // Most hits are small whole numbers: without a function for each of them JSON takes a fifth of the time.
  if (isPlain(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, field: unknown) => {
    if (typeof field === 'bigint') return { $big: field.toString() };
    if (typeof field !== 'number' || isPlain(field)) return field;
    return { $float: Object.is(field, -0) ? '-0' : String(field) };
  });
}

function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint';
  return Array.isArray(value) ? value.every(isPlain) : Object.values(value).every(isPlain);
}

export function unspell(text: string): unknown {
  return JSON.parse(text, (_key, field: unknown) => {
    if (typeof field !== 'object' || field === null) return field;
    if ('$big' in field) return BigInt(String(field.$big));
    return '$float' in field ? Number(field.$float) : field;
  });
}

/**
 * The same value, the same text: keys are sorted. For digests only. Binary data stands as its own digest, so that a
 * kernel's tables of some megabytes make no text of that size.
 */
export function canonical(value: unknown): string {
  return spell(sorted(value));
}

/** Keys sorted, binary data as its digest: small enough to be kept and shown. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return { $bytes: createHash('sha256').update(bytes).digest('hex'), kind: value.constructor.name };
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, sorted(field)]));
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * What a row carries so that it is believed: SQLite notices a damaged tree, not a damaged number in it. 64 bits over the
 * table's name and the columns that never change.
 */
export function markOf(table: string, columns: readonly (string | number)[]): string {
  return digestOf([table, ...columns].join('\0')).slice(0, MARK_DIGITS);
}

const MARK_DIGITS = 16;
