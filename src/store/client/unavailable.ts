import { MillraceError } from '../../kernel/error.js';
import type { Unavailable } from '../thread/connection.js';

/** What could not be written for too long, as an error that ends a command. */
export const unavailable = (cause: Unavailable, asked: string): MillraceError =>
  new MillraceError({ code: 'io', message: cause.message, asked, advice: cause.advice, cause });
