import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents with the given mode. Node's recursive `mkdir` never returns in /proc: it takes
 * ENOENT for a missing parent, creates the parent, and tries again (seen in 20.20).
 */
export function createFolder(path: string, mode = 0o777): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (!existsSync(parent)) createFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (isFolder(path)) return; // another process was faster
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new NoFoldersError(path, parent, error) : error;
  }
}

/** The parent exists, but its file system does not support creating folders. */
export class NoFoldersError extends Error {
  constructor(path: string, parent: string, cause: unknown) {
    super(`cannot create ${path}: folders cannot be created in ${parent}`, { cause });
    this.name = 'NoFoldersError';
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
