import { lstat, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { UNFINISHED_PREFIX } from './cache.js';
import { MODULES_FOLDER } from './cache-directory.js';
import { temporaryFolder } from './temporary.js';

/** An entry of the cache directory, for commands that list or clear the cache. */
export interface CacheEntry {
  readonly name: string;
  readonly kind: EntryKind;
  readonly bytes: number;
  /** The time of its creation. */
  readonly made: Date;
}

/**
 * Programs by their device kind; V8's code of Millrace's own modules; texts that a compiler refused, kept for inspection;
 * unfinished entries of a process.
 */
export type EntryKind = 'native' | 'cuda' | 'opencl' | 'wasm' | 'program' | 'modules' | 'refused text' | 'unfinished';

/** Lists the entries, oldest first. Empty if the directory does not exist. */
export async function cacheEntries(directory: string): Promise<CacheEntry[]> {
  const names = await readdir(directory).catch((): string[] => []);
  const entries = await Promise.all(names.map((name) => entryOf(directory, name)));
  return entries.filter((entry) => entry !== undefined).sort((a, b) => a.made.getTime() - b.made.getTime());
}

/** Deletes entries, but only what this program has created. Returns the deleted entries. */
export async function clearEntries(directory: string, entries: readonly CacheEntry[]): Promise<CacheEntry[]> {
  const deleted: CacheEntry[] = [];
  for (const entry of entries) {
    // Another process may still be creating it; one that is an hour old was left by a process that died.
    if (entry.kind === 'unfinished' && Date.now() - entry.made.getTime() < UNFINISHED_MS) continue;
    if (await remove(directory, entry.name)) deleted.push(entry);
  }
  return deleted;
}

const UNFINISHED_MS = 3_600_000;

/** Renames the entry first, which is atomic: a concurrent reader finds it complete or not at all. */
async function remove(directory: string, name: string): Promise<boolean> {
  try {
    const aside = temporaryFolder(directory, UNFINISHED_PREFIX);
    try {
      await rename(join(directory, name), join(aside.path, 'entry'));
    } finally {
      aside.remove();
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false; // another process was quicker
    throw error;
  }
}

async function entryOf(directory: string, name: string): Promise<CacheEntry | undefined> {
  const path = join(directory, name);
  const state = await lstat(path).catch(() => undefined);
  if (state === undefined) return undefined;
  const made = state.mtime;
  if (/^failed-/.test(name) && state.isFile()) return { name, kind: 'refused text', bytes: state.size, made };
  if (!state.isDirectory()) return undefined;
  const isProgram = /^[0-9a-f]{64}$/.test(name);
  const isOther = name === MODULES_FOLDER || name.startsWith(UNFINISHED_PREFIX);
  if (!isProgram && !isOther) return undefined;
  const files = await readdir(path, { recursive: true }).catch((): string[] => []);
  const sizes = await Promise.all(
    files.map((file) =>
      lstat(join(path, file)).then(
        (entry) => (entry.isFile() ? entry.size : 0),
        () => 0,
      ),
    ),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const kind = isProgram ? kindOf(files) : name === MODULES_FOLDER ? 'modules' : 'unfinished';
  return { name, kind, bytes, made };
}

function kindOf(files: readonly string[]): EntryKind {
  if (files.some((file) => /\.(so|dylib)$/.test(file))) return 'native';
  if (files.some((file) => /\.(cubin|ptx|cu)$/.test(file))) return 'cuda';
  if (files.some((file) => file.endsWith('.cl'))) return 'opencl';
  return files.some((file) => file.endsWith('.wasm')) ? 'wasm' : 'program';
}
