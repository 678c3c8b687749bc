/**
 * Text with emphasis. If off, every function returns its text unchanged. If on, `sanitizeText` converts the marks to terminal
 * codes.
 */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
}

/** Emphasis is used on a terminal unless NO_COLOR is set and not empty (no-color.org). */
export function styleFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): Style {
  const on = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  return on ? coloured : plain;
}

const unchanged = (text: string): string => text;
const plain: Style = { bold: unchanged, dim: unchanged, good: unchanged, bad: unchanged, warn: unchanged };

/**
 * The prefix of a style until it is written. The number is random in each process, so outside text that contains terminal
 * codes cannot pass for a style.
 */
export function styleMark(): string {
  mark ??= `${ESCAPE}${process.getBuiltinModule('node:crypto').randomInt(2 ** 47)};`; // 5 ms to load
  return mark;
}
let mark: string | undefined;
export const ESCAPE = '\u001b[';

const sgr = (open: number, close: number) => (text: string) => `${styleMark()}${open}m${text}${styleMark()}${close}m`;
const coloured: Style = { bold: sgr(1, 22), dim: sgr(2, 22), good: sgr(32, 39), bad: sgr(31, 39), warn: sgr(33, 39) };
