import type { Origin } from '../language/origin.js';

/**
 * Source lines of an encoded kernel. They are for people, and may appear in comments of generated text: characters that
 * could end a comment, or that are not shown, are replaced when a kernel is encoded and refused when it is decoded.
 */
const MAX_LENGTH = 300;
const unsafe = /[^\p{L}\p{N} _.,:;@+~()[\]%#=&/-]/gu;

/** Returns an origin as it is encoded. */
export function originText({ line }: Origin): string {
  const known = texts.get(line);
  if (known !== undefined) return known;
  const text = line.slice(-MAX_LENGTH).replaceAll('\\', '/').replace(unsafe, '_');
  if (texts.size > 10_000) texts.clear();
  texts.set(line, text);
  return text;
}
const texts = new Map<string, string>();

export const isOriginText = (text: string): boolean => text.length <= MAX_LENGTH && text.search(unsafe) < 0;

/** An origin in parts; row 0 if it does not end with a row and a column. */
export interface OriginParts {
  readonly file: string;
  readonly row: number;
  readonly column: number;
}

export function splitOrigin(line: string): OriginParts {
  const [, file, row, column] = /^(.*):([1-9]\d{0,8}):(0|[1-9]\d{0,8})$/s.exec(line) ?? [];
  if (file === undefined) return { file: line, row: 0, column: 0 };
  return { file, row: Number(row), column: Number(column) };
}

export const joinOrigin = ({ file, row, column }: OriginParts): string =>
  row === 0 ? file : `${file}:${row}:${column}`;
