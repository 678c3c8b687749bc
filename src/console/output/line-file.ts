import { closeSync, openSync, writeSync } from 'node:fs';
import { MillraceError } from '../../kernel/error.js';

/** A file that each line is written to immediately, so that it can be read after a crash. */
export interface LineFile {
  write(line: string): void;
  close(): void;
}

/** `content` is for error messages: `events`. */
export function openLineFile(path: string, content: string): LineFile {
  const refuse = (cause: unknown): MillraceError =>
    new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `${content} in ${path}`,
      advice: 'name a file in a writable folder, on a disk with free space',
      cause,
    });
  const withFileErrors = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      throw refuse(cause);
    }
  };
  let file: number | undefined = withFileErrors(() => openSync(path, 'w'));
  return {
    write: (line) => {
      const open = file;
      if (open === undefined) return; // a late line from something that is being closed
      // A failed write is reported once; the code that reports it may write here, too.
      file = undefined;
      withFileErrors(() => writeSync(open, `${line}\n`));
      file = open;
    },
    close: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}
