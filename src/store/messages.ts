import { type ErrorCode, MillraceError } from '../kernel/error.js';
import { LedgerDamagedError, LedgerUnavailableError } from './thread/connection.js';
import type { Ledger } from './thread/ledger.js';

/** Messages between the main thread and the thread that owns the ledger. */

/** Methods of the ledger that the main thread calls. */
export type LedgerMethod = {
  [Name in keyof Ledger]: Ledger[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Ledger];

export interface LedgerCall {
  readonly number: number;
  readonly method: LedgerMethod;
  readonly args: readonly unknown[];
}

export type LedgerReply = { readonly number: number; readonly notices: readonly string[] } & (
  | { readonly value: unknown }
  | { readonly fault: ErrorData }
);

/** An error as plain data: classes do not cross threads. */
export interface ErrorData {
  readonly kind: 'known' | 'unavailable' | 'other';
  readonly message: string;
  readonly code?: ErrorCode;
  readonly asked?: string | undefined;
  readonly advice?: string | undefined;
  readonly stack?: string | undefined;
}

export function errorDataOf(error: unknown): ErrorData {
  if (error instanceof MillraceError) {
    const { code, summary, asked, advice, stack } = error;
    return { kind: 'known', message: summary, code, asked, advice, stack };
  }
  if (error instanceof LedgerUnavailableError)
    return { kind: 'unavailable', message: error.message, advice: error.advice };
  if (error instanceof LedgerDamagedError) {
    const advice = 'run the command again: it sets the damaged ledger aside and creates a new one';
    return {
      kind: 'known',
      message: `the ledger is damaged: ${error.message}`,
      code: 'io',
      asked: 'the ledger',
      advice,
    };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { kind: 'other', message, stack };
}

export function errorOf({ kind, message, code = 'io', asked, advice, stack }: ErrorData): Error {
  if (kind === 'other') return Object.assign(new Error(message), { stack });
  if (kind === 'unavailable') return new LedgerUnavailableError(message, advice ?? '', undefined);
  return new MillraceError({
    code,
    message,
    ...(asked !== undefined && { asked }),
    ...(advice !== undefined && { advice }),
  });
}
