import type { HitField } from '../../store/index.js';
import { jsonLine } from '../output/output.js';

/** Digits of a word of each unsigned type, in hex. */
export const HEX_DIGITS: Readonly<Partial<Record<string, number>>> = { u32: 8, u64: 16 };

/** Formats a value of a hit as `run` prints it: an array of unsigned integers is most often a hash, and is hex. */
export function valueText({ type, array }: Pick<HitField, 'type' | 'array'>, value: unknown): string {
  if (!array || !Array.isArray(value)) return plainText(value);
  const digits = HEX_DIGITS[type];
  if (digits === undefined) return value.join(',');
  return value.map((word: number | bigint) => word.toString(16).padStart(digits, '0')).join('');
}

/** Formats the values of a hit by name. `fields` are those that the kernel declared; others are shown as they are. */
export function hitTexts(
  values: Readonly<Record<string, unknown>>,
  fields: readonly HitField[] = [],
): Record<string, string> {
  const known = new Map(fields.map((field) => [field.name, field]));
  const names = [...fields.map(({ name }) => name).filter((name) => name in values), ...Object.keys(values)];
  const texts = [...new Set(names)].map((name) => {
    const field = known.get(name);
    return [name, field ? valueText(field, values[name]) : plainText(values[name])];
  });
  return Object.fromEntries(texts);
}

const plainText = (value: unknown): string =>
  typeof value === 'object' && value !== null ? jsonLine(value) : String(value);
