import { MillraceError } from '../../kernel/error.js';
import type { LedgerUnavailableError } from '../thread/connection.js';

/** Returns the error that ends a command after writes have failed for too long. */
export const unavailableError = (cause: LedgerUnavailableError, asked: string): MillraceError =>
  new MillraceError({ code: 'io', message: cause.message, asked, advice: cause.advice, cause });
