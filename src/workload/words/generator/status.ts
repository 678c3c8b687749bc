import { type ErrorCode, firstLine, MillraceError } from '../../../kernel/error.js';

/** Error codes of the C interface. 0 is success. */
export const Status = {
  ok: 0,
  /** The generator was closed. */
  badHandle: -1,
  badParameter: -2,
  /** The device or its driver failed. */
  device: -3,
  outOfMemory: -4,
  /** No mask yet. */
  notConfigured: -5,
  bufferTooSmall: -6,
  /** An index outside the keyspace. */
  outOfRange: -7,
} as const;

export type StatusCode = Exclude<(typeof Status)[keyof typeof Status], 0>;

/** An error of a generator: `status` for programs. */
export class WordsError extends MillraceError {
  readonly status: StatusCode;

  constructor(status: StatusCode, message: string, asked: string, advice: string, cause?: unknown) {
    super({ code: codes[status], message, asked, advice, cause });
    this.name = 'WordsError';
    this.status = status;
  }
}

const codes: Readonly<Record<StatusCode, ErrorCode>> = {
  [-1]: 'device-closed',
  [-2]: 'usage',
  [-3]: 'device-failed',
  [-4]: 'device-memory',
  [-5]: 'usage',
  [-6]: 'buffer-range',
  [-7]: 'launch-range',
};

/** Converts any error to a `WordsError`, and keeps its message. */
export function wordsError(error: unknown, asked: string): WordsError {
  if (error instanceof WordsError) return error;
  const known = error instanceof MillraceError ? error : undefined;
  const status =
    known?.code === 'device-memory'
      ? Status.outOfMemory
      : known?.code === 'usage'
        ? Status.badParameter
        : Status.device;
  return new WordsError(status, firstLine(error), known?.asked ?? asked, known?.advice ?? 'see the cause', error);
}
