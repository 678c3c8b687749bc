import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createFolder } from '../device/cache/folder.js';
import { MillraceError } from '../kernel/error.js';
import type { ExportedFile } from './request.js';

/** Writes the files to a folder, which is made if it is missing. Returns their paths. */
export function writeFiles(folder: string, files: readonly ExportedFile[]): string[] {
  try {
    return files.map(({ path, text }) => {
      const file = join(folder, path);
      createFolder(dirname(file));
      writeFileSync(file, text);
      return file;
    });
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write to ${folder}: ${(cause as Error).message}`,
      asked: `the exported files in ${folder}`,
      advice: 'name a folder that you may write to',
      cause,
    });
  }
}
