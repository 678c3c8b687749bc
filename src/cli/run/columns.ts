import { HEX_DIGITS, valueText } from '../../console/ledger/hit-text.js';
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

function columnOf(field: Field): Column {
  const { name, type, array, length } = field;
  const width = array ? (HEX_DIGITS[type] ?? 0) * length : WIDTH[type];
  return { name, width: Math.max(name.length, width), text: (value) => valueText(field, value) };
}

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
