import { createHash } from 'node:crypto';

/**
 * Encoding of values in the ledger: exact text that any SQLite tool shows legibly and that `ORDER BY` sorts correctly.
 * SQLite's integers end at 2^63; indices go to 2^128.
 */

/** An index, or the end of a range: 39 digits, enough for 2^128. */
export const indexText = (index: bigint): string => index.toString().padStart(INDEX_DIGITS, '0');

export const parseIndex = (text: string): bigint => BigInt(text);

const INDEX_DIGITS = (1n << 128n).toString().length;

/** Encodes as JSON, with bigints and floats that JSON lacks (NaN, infinities, -0). Exact in both directions. */
export function encode(value: unknown): string {
  // Most hits are small integers: without a replacer function JSON.stringify takes a fifth of the time.
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

export function decode(text: string): unknown {
  return JSON.parse(text, (_key, field: unknown) => {
    if (typeof field !== 'object' || field === null) return field;
    if ('$big' in field) return BigInt(String(field.$big));
    return '$float' in field ? Number(field.$float) : field;
  });
}

/**
 * Encodes equal values as equal text, with sorted keys. For digests only. Binary data is replaced by its digest, so that
 * a kernel's tables of some megabytes do not become text of that size.
 */
export function canonicalText(value: unknown): string {
  return encode(normalized(value));
}

/** Sorts keys and replaces binary data by its digest, so that the value is small enough to be stored and shown. */
export function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized);
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return { $bytes: createHash('sha256').update(bytes).digest('hex'), kind: value.constructor.name };
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, normalized(field)]));
}

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Returns a row's checksum: 64 bits over the table's name and the columns that never change. SQLite detects a damaged
 * tree, but not a damaged number in it.
 */
export function checksumOf(table: string, columns: readonly (string | number)[]): string {
  return digestOf([table, ...columns].join('\0')).slice(0, CHECKSUM_DIGITS);
}

const CHECKSUM_DIGITS = 16;
