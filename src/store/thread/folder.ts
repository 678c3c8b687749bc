import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import { translateFileErrors } from './connection.js';

/**
 * Creates a folder and the folders above it, for this user only. Node's recursive `mkdirSync` never returns in /proc: it
 * takes ENOENT for a missing parent, creates the parent, and tries again (seen in 20.20).
 */
export function createFolder(path: string): void {
  translateFileErrors(path, () => {
    if (isFolder(path)) return;
    const parent = dirname(path);
    if (!existsSync(parent)) createFolder(parent);
    try {
      mkdirSync(path, { mode: 0o700 });
    } catch (error) {
      if (isFolder(path)) return; // another process was faster
      throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? noFoldersError(path, parent, error) : error;
    }
  });
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const noFoldersError = (path: string, parent: string, cause: unknown): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `cannot create ${path}: folders cannot be created in ${parent}`,
    asked: 'the ledger, which stores progress and hits',
    advice: 'give --data-dir a writable folder, or use --no-ledger to store nothing',
    cause,
  });
