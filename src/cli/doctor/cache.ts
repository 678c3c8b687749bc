import { access, constants, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bytes, plural } from '../../console/output/format.js';
import { cacheDirectory } from '../../device/cache/cache-directory.js';
import { type TrustProblem, trustProblem } from '../../device/cache/cache-trust.js';
import type { Diagnostic } from '../../device/registry.js';

/** Checks the folder of compiled programs without creating or changing it. */
export async function cacheFindings(directory: string = cacheDirectory()): Promise<Diagnostic[]> {
  const state = await lstat(directory).catch(() => undefined);
  const fault = (await trustProblem(directory)) ?? (state && (await unwritable(directory)));
  const found = state ? await described(directory, state.mode) : `${directory}, not created yet`;
  if (fault === undefined) return [{ what: 'directory', state: 'ok', found }];
  const advice = `programs are compiled again in each run; to keep them, ${fault.advice}`;
  return [{ what: 'directory', state: 'warning', found: `${found}; ${fault.fault}`, advice }];
}

async function described(directory: string, mode: number): Promise<string> {
  const { entries, size } = await sizeOf(directory);
  return `${directory}, mode ${(mode & 0o777).toString(8)}, ${plural(entries, 'entry', 'entries')}, ${bytes(size)}`;
}

const unwritable = (directory: string): Promise<TrustProblem | undefined> =>
  access(directory, constants.W_OK).then(
    () => undefined,
    () => ({ fault: 'it is not writable', advice: 'set MILLRACE_CACHE_DIR to a writable directory' }),
  );

async function sizeOf(directory: string): Promise<{ readonly entries: number; readonly size: number }> {
  const names = await readdir(directory).catch((): string[] => []);
  const files = await readdir(directory, { recursive: true }).catch((): string[] => []);
  const sizes = await Promise.all(
    files.map((name) =>
      lstat(join(directory, name)).then(
        (one) => (one.isFile() ? one.size : 0),
        () => 0,
      ),
    ),
  );
  return {
    entries: names.filter((name) => !name.startsWith('.')).length,
    size: sizes.reduce((sum, one) => sum + one, 0),
  };
}
