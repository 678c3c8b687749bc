import { MillraceError } from '../../kernel/error.js';
import { CODE_FILE, type CodeFault } from './messages.js';

/** Returns an error as data, with the place in the user's code if it names one. */
export function faultOf(error: unknown): CodeFault {
  const known = error instanceof MillraceError;
  const message = known
    ? [error.summary, error.advice].filter((part) => part !== undefined && part !== '').join('; ')
    : String(error);
  const place = placeIn(known ? `${error.summary}\n${error.asked ?? ''}` : '') ?? placeIn(stackOf(error));
  return { message, ...place };
}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? '') : '');

/** Finds a position of the user's code. */
export function placeIn(text: string): { readonly row: number; readonly column: number } | undefined {
  const [, row, column] = position.exec(text) ?? [];
  return row === undefined ? undefined : { row: Number(row), column: Number(column) };
}

const position = new RegExp(`${CODE_FILE.replace('.', '\\.')}:(\\d+):(\\d+)`);
