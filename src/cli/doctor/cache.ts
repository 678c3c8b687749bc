import { access, constants, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { bytes, plural } from '../../console/format.js';
import { cacheDirectory } from '../../device/cache.js';
import type { Finding } from '../../device/registry.js';

/** The folder of compiled programs: only looked at, neither made nor changed. */
export async function cacheFindings(directory: string = cacheDirectory()): Promise<Finding[]> {
  const state = await lstat(directory).catch(() => undefined);
  if (!state) return [{ what: 'directory', state: 'ok', found: `${directory}, not made yet` }];
  const mode = (state.mode & 0o777).toString(8);
  const { entries, size } = await sizeOf(directory);
  const found = `${directory}, mode ${mode}, ${plural(entries, 'entry', 'entries')}, ${bytes(size)}`;
  const fault = await faultOf(directory, state);
  if (fault === undefined) return [{ what: 'directory', state: 'ok', found }];
  const advice = `programs are compiled anew in each run: make it yours alone (chmod 700), or set MILLRACE_CACHE_DIR`;
  return [{ what: 'directory', state: 'warning', found: `${found}; ${fault}`, advice }];
}

async function faultOf(
  directory: string,
  state: { isDirectory(): boolean; readonly mode: number; readonly uid: number },
): Promise<string | undefined> {
  if (!state.isDirectory()) return 'it is not a directory';
  const me = process.getuid?.();
  if (me !== undefined && state.uid !== me) return `it belongs to user ${state.uid}, not to ${me}`;
  if ((state.mode & 0o022) !== 0) return 'others may write to it';
  return access(directory, constants.W_OK).then(
    () => undefined,
    () => 'it cannot be written',
  );
}

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
