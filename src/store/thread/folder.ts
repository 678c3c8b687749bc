import { createFolder, NoFoldersError } from '../../device/cache/folder.js';
import { MillraceError } from '../../kernel/error.js';
import { translateFileErrors } from './connection.js';

/** Creates a folder of the ledger and its missing parents, for this user only. */
export function createPrivateFolder(path: string): void {
  translateFileErrors(path, () => {
    try {
      createFolder(path, 0o700);
    } catch (error) {
      throw error instanceof NoFoldersError ? noFoldersError(error) : error;
    }
  });
}

const noFoldersError = (cause: NoFoldersError): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: cause.message,
    asked: 'the ledger, which stores progress and hits',
    advice: 'give --data-dir a writable folder, or use --no-ledger to store nothing',
    cause,
  });
