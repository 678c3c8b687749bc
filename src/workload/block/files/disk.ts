import { constants } from 'node:fs';
import { access, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { temporaryFile } from '../../../device/cache/temporary.js';
import { MillraceError } from '../../../kernel/error.js';

/** Reads a file as Latin-1, one character per byte, so that errors can show bytes that are not ASCII. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1');
  } catch (error) {
    throw failed(`cannot read ${path}`, `to read ${path}`, error);
  }
}

/**
 * Writes a file under a temporary name in its folder, then renames it: readers see the old text or the new one, and a
 * crash never leaves half a file. Anything but a plain file (a pipe, /dev/null) is written in place.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    const target = await destination(path);
    if (!target.isPlain) return await writeFile(target.path, text, 'latin1');
    const { file, commit, discard } = await temporaryFile(target.path);
    try {
      await file.writeFile(text, 'latin1');
      await commit();
    } catch (error) {
      await discard();
      throw error;
    }
  } catch (error) {
    throw failed(`cannot write ${path}`, `to write ${path}`, error);
  }
}

/** Throws if a file cannot be written, before the work starts. */
export async function checkWritable(path: string): Promise<void> {
  try {
    const target = await destination(path);
    await access(target.isPlain ? dirname(target.path) : target.path, constants.W_OK);
  } catch (error) {
    throw failed(`cannot write ${path}`, `to write ${path}`, error);
  }
}

/** True if both names refer to the same file. */
export async function isSameFile(a: string, b: string): Promise<boolean> {
  const [first, second] = await Promise.all([a, b].map((path) => realpath(path).catch(() => undefined)));
  return first !== undefined && first === second;
}

/** Resolves links. `isPlain`: a plain file exists there or can be created. */
async function destination(path: string): Promise<{ path: string; isPlain: boolean }> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return { path, isPlain: true };
  const found = await stat(real);
  if (found.isDirectory()) throw Object.assign(new Error('it is a folder'), { code: 'EISDIR' });
  return { path: real, isPlain: found.isFile() };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
};

function failed(what: string, asked: string, cause: unknown): MillraceError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = reasons[code] ?? (cause instanceof Error ? cause.message : String(cause));
  return new MillraceError({
    code: 'io',
    message: `${what}: ${reason}`,
    asked,
    advice: 'check the name, its folder and the permissions',
    cause,
  });
}
