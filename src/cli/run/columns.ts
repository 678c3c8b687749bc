import type { Range } from '../../engine/index.js';
import type { Field, Type } from '../../kernel/index.js';

/** Formats hits as lines of text with columns of fixed width. */
export interface Columns {
  readonly heading: string;
  line(hit: { readonly index: bigint }): string;
}

export function columnsOf(space: Range, fields: readonly Field[]): Columns {
  const last = (space.start + space.length - 1n).toString();
  const columns: readonly Column[] = [
    { name: 'index', width: Math.max(last.length, 'index'.length), text: (value) => String(value) },
    ...fields.map(columnOf),
  ];
  const row = (text: (column: Column) => string): string =>
    columns.map((column) => text(column).padStart(column.width)).join('  ');
  return {
    heading: row(({ name }) => name),
    line: (hit) => row(({ name, text }) => text((hit as Readonly<Record<string, unknown>>)[name])),
  };
}

interface Column {
  readonly name: string;
  readonly width: number;
  text(value: unknown): string;
}

/** Arrays of unsigned integers are most often a hash: they are written in hex, without separators. */
function columnOf({ name, type, array, length }: Field): Column {
  const digits = HEX_DIGITS[type];
  if (!array) return { name, width: Math.max(name.length, WIDTH[type]), text: String };
  if (digits === undefined) {
    return { name, width: name.length, text: (value) => (value as readonly unknown[]).join(',') };
  }
  const hex = (word: number | bigint): string => word.toString(16).padStart(digits, '0');
  return {
    name,
    width: Math.max(name.length, digits * length),
    text: (value) => (value as readonly (number | bigint)[]).map(hex).join(''),
  };
}

const HEX_DIGITS: Readonly<Partial<Record<Type, number>>> = { u32: 8, u64: 16 };
const WIDTH: Readonly<Record<Type, number>> = {
  u32: 10,
  i32: 11,
  u64: 20,
  i64: 20,
  f16: 12,
  f32: 12,
  f64: 22,
  bool: 5,
};
