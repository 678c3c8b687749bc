import { legibleCell } from './legible.js';

/** Rows with aligned columns. Numbers stand right, text left; the last column is not padded. */
export function table(cells: readonly (readonly string[])[], options: TableOptions = {}): string[] {
  const { indent = 0, right = [], gap = 2 } = options;
  const rows = cells.map((row) => row.map(legibleCell));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, width(cell));
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const room = ' '.repeat((widths[column] ?? 0) - width(cell));
      return right.includes(column) ? room + cell : cell + room;
    });
    return (' '.repeat(indent) + cells.join(' '.repeat(gap))).trimEnd();
  });
}

export interface TableOptions {
  readonly indent?: number;
  /** Columns that stand right. */
  readonly right?: readonly number[];
  readonly gap?: number;
}

/** Columns a text takes: colour takes none, and our own words use no wide characters. */
export const width = (text: string): number => [...text.replace(COLOUR, '')].length;
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** The first so many columns of a text. Colours are kept, those after the end too, so that what was opened is closed. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let left = columns;
  return text
    .split(new RegExp(`(${COLOUR.source})`))
    .map((part, at) => {
      if (at % 2 === 1) return part;
      const kept = [...part].slice(0, left);
      left -= kept.length;
      return kept.join('');
    })
    .join('');
}
