import { MillraceError } from '../kernel/error.js';

/**
 * Validates values that a server sent: each has its type and is within its bounds, or the whole message is rejected with
 * the name of the field. No function here allocates more than the size of its input.
 */
export interface Fields {
  object(value: unknown, field: string): Readonly<Record<string, unknown>>;
  list(value: unknown, field: string, most: number): readonly unknown[];
  text(value: unknown, field: string, longest: number): string;
  /** Returns lower case, with an even number of digits. */
  hex(value: unknown, field: string, bytes: { readonly least?: number; readonly most: number }): string;
  whole(value: unknown, field: string, least: number, most: number): number;
  /** An integer, or the text of its digits (see `parseExact`). */
  natural(value: unknown, field: string, least: bigint, most: bigint): bigint;
  /** A number above 0, which may be a fraction. */
  positive(value: unknown, field: string): number;
  /** Eight digits of hex: an unsigned number of 32 bits. */
  hex32(value: unknown, field: string): number;
}

/** `what` names the message: "mining.notify", "the block template". */
export function fieldsOf(what: string): Fields {
  const wrong = (field: string, why: string): never => {
    throw new MillraceError({
      code: 'input-format',
      message: `${what}: ${field} ${why}`,
      asked: `to understand ${what}`,
      advice: 'the server does not speak the protocol as it is written down; use another',
    });
  };
  const text: Fields['text'] = (value, field, longest) => {
    if (typeof value !== 'string') return wrong(field, 'is no text');
    return value.length <= longest ? value : wrong(field, `has more than ${longest} characters`);
  };
  const hex: Fields['hex'] = (value, field, { least = 0, most }) => {
    const given = text(value, field, 2 * most);
    if (given.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(given)) return wrong(field, 'is no hex');
    if (given.length < 2 * least) return wrong(field, `has less than ${least} bytes`);
    return given.toLowerCase();
  };
  return {
    text,
    hex,
    object: (value, field) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(field, 'is no object');
      return value as Readonly<Record<string, unknown>>;
    },
    list: (value, field, most) => {
      if (!Array.isArray(value)) return wrong(field, 'is no list');
      return value.length <= most ? (value as unknown[]) : wrong(field, `has more than ${most} entries`);
    },
    whole: (value, field, least, most) => {
      const isWhole = typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most;
      return isWhole ? (value as number) : wrong(field, `is no whole number from ${least} to ${most}`);
    },
    natural: (value, field, least, most) => {
      const isWhole = Number.isSafeInteger(value) || (typeof value === 'string' && /^(0|[1-9]\d{0,99})$/.test(value));
      const number = isWhole ? BigInt(value as number | string) : undefined;
      const isWithin = number !== undefined && number >= least && number <= most;
      return isWithin ? number : wrong(field, `is no whole number from ${least} to ${most}`);
    },
    positive: (value, field) =>
      typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : wrong(field, 'is no number above 0'),
    hex32: (value, field) => Number.parseInt(hex(value, field, { least: 4, most: 4 }), 16),
  };
}

/** Returns a server's text for display: one line, without control characters, shortened. */
export function shownText(text: string, longest = 200): string {
  const start = text
    .slice(0, 4 * longest)
    .replace(UNSHOWN, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return start.length <= longest ? start : `${start.slice(0, longest)}…`;
}

/** Control and format characters, which move the cursor, set colours or reverse the writing direction. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
