import { sanitizeCell } from './sanitize.js';

/** Aligns columns. Columns in `right` are right-aligned; the last column is not padded. */
export function table(cells: readonly (readonly string[])[], options: TableOptions = {}): string[] {
  const { indent = 0, right = [], gap = 2 } = options;
  const rows = cells.map((row) => row.map(sanitizeCell));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, width(cell));
  }
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const padding = ' '.repeat((widths[column] ?? 0) - width(cell));
      return right.includes(column) ? padding + cell : cell + padding;
    });
    return (' '.repeat(indent) + cells.join(' '.repeat(gap))).trimEnd();
  });
}

export interface TableOptions {
  readonly indent?: number;
  /** Right-aligned columns. */
  readonly right?: readonly number[];
  readonly gap?: number;
}

/** Columns that a text occupies: colour codes take none, and our own text has no wide characters. */
export const width = (text: string): number => [...text.replace(COLOUR, '')].length;
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/**
 * Cuts a text to a number of columns. All colour codes are kept, including those after the end, so that every style is
 * closed.
 */
export function cutToWidth(text: string, columns: number): string {
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
