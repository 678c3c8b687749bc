import { MillraceError } from '../kernel/error.js';

/**
 * Validates values that a server sent: each has its type and is within its bounds, or the whole message is rejected with
 * the name of the field. No function here allocates more than the size of its input.
 */
export interface FieldReader {
  object(value: unknown, field: string): Readonly<Record<string, unknown>>;
  list(value: unknown, field: string, max: number): readonly unknown[];
  text(value: unknown, field: string, maxLength: number): string;
  /** Returns lower case, with an even number of digits. */
  hex(value: unknown, field: string, bytes: { readonly min?: number; readonly max: number }): string;
  integer(value: unknown, field: string, min: number, max: number): number;
  /** An integer, or the text of its digits (see `parseExact`). */
  bigInteger(value: unknown, field: string, min: bigint, max: bigint): bigint;
  /** A number above 0, which may be a fraction. */
  positive(value: unknown, field: string): number;
  /** A number from 0 to `max`, which may be a fraction. */
  amount(value: unknown, field: string, max: number): number;
  /** Eight digits of hex: an unsigned number of 32 bits. */
  hex32(value: unknown, field: string): number;
}

/** `what` names the message: "mining.notify", "the block template". */
export function fieldReader(
  what: string,
  advice = 'the server does not follow the protocol; use another one',
): FieldReader {
  const wrong = (field: string, why: string): never => {
    throw new MillraceError({
      code: 'input-format',
      message: `${what}: ${field} ${why}`,
      asked: `to read ${what}`,
      advice,
    });
  };
  const text: FieldReader['text'] = (value, field, maxLength) => {
    if (typeof value !== 'string') return wrong(field, 'is not text');
    return value.length <= maxLength ? value : wrong(field, `has more than ${maxLength} characters`);
  };
  const hex: FieldReader['hex'] = (value, field, { min = 0, max }) => {
    const given = text(value, field, 2 * max);
    if (given.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(given)) return wrong(field, 'is not hex');
    if (given.length < 2 * min) return wrong(field, `has fewer than ${min} bytes`);
    return given.toLowerCase();
  };
  return {
    text,
    hex,
    object: (value, field) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(field, 'is not an object');
      return value as Readonly<Record<string, unknown>>;
    },
    list: (value, field, max) => {
      if (!Array.isArray(value)) return wrong(field, 'is not a list');
      return value.length <= max ? (value as unknown[]) : wrong(field, `has more than ${max} entries`);
    },
    integer: (value, field, min, max) => {
      const isWhole = typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
      return isWhole ? (value as number) : wrong(field, `is not a whole number from ${min} to ${max}`);
    },
    bigInteger: (value, field, min, max) => {
      const isWhole = Number.isSafeInteger(value) || (typeof value === 'string' && /^(0|[1-9]\d{0,99})$/.test(value));
      const number = isWhole ? BigInt(value as number | string) : undefined;
      const isWithin = number !== undefined && number >= min && number <= max;
      return isWithin ? number : wrong(field, `is not a whole number from ${min} to ${max}`);
    },
    positive: (value, field) =>
      typeof value === 'number' && Number.isFinite(value) && value > 0
        ? value
        : wrong(field, 'is not a number above 0'),
    amount: (value, field, max) =>
      typeof value === 'number' && value >= 0 && value <= max
        ? value
        : wrong(field, `is not a number from 0 to ${max}`),
    hex32: (value, field) => Number.parseInt(hex(value, field, { min: 4, max: 4 }), 16),
  };
}

/** Returns a server's text for display: one line, without control characters, shortened. */
export function displayText(text: string, maxLength = 200): string {
  const start = text
    .slice(0, 4 * maxLength)
    .replace(CONTROL_CHARACTERS, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return start.length <= maxLength ? start : `${start.slice(0, maxLength)}…`;
}

/** Control and format characters, which move the cursor, set colours or reverse the writing direction. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
