import { ESCAPE, styleMark } from './style.js';

/**
 * Escapes text for people. Parts of it come from files, servers, arguments and drivers, and must not reach the terminal
 * unchanged: control characters move the cursor, change colours or set the title, marks of writing direction reorder the
 * displayed text, and line ends start lines that look like our own. All these characters are escaped, except
 *
 * - the styles of `style.ts`, which no other text can contain,
 * - line ends before two spaces, with which our own messages continue (`  asked:`, `  advice:`, frames of a stack),
 *   and those around the whole text.
 *
 * All text for people passes through here exactly once, when it is written.
 */
export function sanitizeText(text: string, limits: TextLimits = RESULT_LIMITS): string {
  return mapBetweenStyles(
    text,
    () => ESCAPE,
    (part) => sanitizeLines(part, limits),
  );
}

/** Escapes a cell of a table, on one line. Style marks are kept: they are replaced when the line is written. */
export const sanitizeCell = (text: string): string => mapBetweenStyles(text, styleMark, escaped);

/** Like `sanitizeText`, for a file: without styles, and not shortened. */
export function sanitizeForFile(text: string): string {
  const [first = '', ...styled] = partsBetweenStyles(text);
  return sanitizeLines(first + styled.map((part) => part.slice(part.indexOf('m') + 1)).join(''), NO_LIMITS);
}

/** Maximum lengths in characters; the middle of longer text is omitted. */
export interface TextLimits {
  readonly word: number;
  readonly line: number;
  readonly lines: number;
}

/** For errors, warnings and the log: they describe a problem with outside text, and need not repeat all of it. */
export const MESSAGE_LIMITS: TextLimits = { word: 200, line: 400, lines: 100 };
/** For results, which may be numbers of hundreds of digits. */
const RESULT_LIMITS: TextLimits = { word: 4096, line: 4096, lines: 4096 };
const NO_LIMITS: TextLimits = {
  word: Number.POSITIVE_INFINITY,
  line: Number.POSITIVE_INFINITY,
  lines: Number.POSITIVE_INFINITY,
};

/** Control and format characters, and separators of lines and paragraphs. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const escaped = (text: string): string => text.replace(INVISIBLE, escapeOf);

/** For a line of JSON: these characters are parts of strings there, and a reader gets them back. */
export const escapedJson = (json: string): string =>
  json.replace(INVISIBLE, (one) => Array.from({ length: one.length }, (_, at) => unicode(one.charCodeAt(at))).join(''));

const escapeOf = (one: string): string => {
  const code = one.codePointAt(0) ?? 0;
  return SHORT[one] ?? (code > 0xffff ? `\\u{${code.toString(16)}}` : unicode(code));
};
const unicode = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Applies `change` to the text between styles. */
function mapBetweenStyles(text: string, style: () => string, change: (part: string) => string): string {
  const [first = '', ...styled] = partsBetweenStyles(text).map(change);
  return styled.length === 0 ? first : [first, ...styled].join(style());
}

const partsBetweenStyles = (text: string): string[] => (text.includes(ESCAPE) ? text.split(styleMark()) : [text]);

function sanitizeLines(text: string, limits: TextLimits): string {
  let [from, to] = [0, text.length];
  while (text[from] === '\n') from += 1;
  while (to > from && text[to - 1] === '\n') to -= 1;
  const all = text.slice(from, to).split(/\n(?= {2})/);
  const kept = all.slice(0, limits.lines).map((line) => shortened(line, limits));
  if (all.length > kept.length) kept.push(`  … ${all.length - kept.length} more lines`);
  return text.slice(0, from) + kept.join('\n') + text.slice(to);
}

/** Shortens before escaping, to bound the work, and again after it. */
function shortened(line: string, { word, line: maxLine }: TextLimits): string {
  const words = escaped(withoutMiddle(line, maxLine)).split(' ');
  return withoutMiddle(words.map((one) => withoutMiddle(one, word)).join(' '), maxLine);
}

function withoutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = (max - 1) / 2;
  return `${text.slice(0, Math.ceil(half))}…${text.slice(text.length - Math.floor(half))}`;
}
