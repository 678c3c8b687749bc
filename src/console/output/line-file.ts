import { closeSync, openSync, writeSync } from 'node:fs';
import { MillraceError } from '../../kernel/error.js';

/** A file that lines are written to at once, each: what it holds is read after a crash, too. */
export interface LineFile {
  write(line: string): void;
  close(): void;
}

/** `what` is what goes there, for people. */
export function openLines(path: string, what: string): LineFile {
  const refuse = (cause: unknown): MillraceError =>
    new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `${what} in ${path}`,
      advice: 'name a file in a folder that you may write to, on a disk that has room',
      cause,
    });
  const attempt = <T>(act: () => T): T => {
    try {
      return act();
    } catch (cause) {
      throw refuse(cause);
    }
  };
  let file: number | undefined = attempt(() => openSync(path, 'w'));
  return {
    write: (line) => {
      const open = file;
      if (open === undefined) return; // a late word of something that is being closed
      // What cannot be written is told once; whoever tells it may write here, too.
      file = undefined;
      attempt(() => writeSync(open, `${line}\n`));
      file = open;
    },
    close: () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}
