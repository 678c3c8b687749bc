import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { temporaryFolder } from './temporary.js';

/**
 * Compiled programs on disk, for any device. An entry is a folder named by a digest of everything that went into it;
 * it holds files and a manifest with their digests, which are checked before each use: what is loaded is executed. The
 * folder is made under another name and renamed, so an entry is there whole or not at all, whoever else writes.
 */
export class DiskCache {
  readonly directory: string;
  /** Why this is not the usual directory, for people. */
  readonly warning: string | undefined;

  private constructor(directory: string, warning?: string) {
    this.directory = directory;
    this.warning = warning;
  }

  /** Opens the cache, or a private directory that goes away with the process where that is not safe or possible. */
  static async open(environment: NodeJS.ProcessEnv = process.env): Promise<DiskCache> {
    const directory = cacheDirectory(environment);
    const fault = await makePrivate(directory);
    if (fault === undefined) return new DiskCache(directory);
    return new DiskCache(
      temporaryFolder(tmpdir(), 'millrace-cache-').path,
      `${directory} is not used as cache: ${fault}; programs are compiled anew in each run`,
    );
  }

  /**
   * The entry's folder, checked; undefined when there is none. A damaged one is deleted, and one without the files that
   * are `needed`, as another version may have written it.
   */
  async get(key: string, ...needed: readonly string[]): Promise<string | undefined> {
    const folder = join(this.directory, key);
    try {
      const manifest = parseManifest(await readFile(join(folder, MANIFEST), 'utf8'));
      const names = new Set(manifest.map(([name]) => name));
      if (!needed.every((name) => names.has(name))) throw new Error('a file is missing');
      for (const [name, digest] of manifest) {
        if (digestOf(await readFile(join(folder, name))) !== digest) throw new Error(`${name} is damaged`);
      }
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !(await exists(folder))) return undefined;
      await rm(folder, { recursive: true, force: true });
      return undefined;
    }
  }

  /** Lets `fill` put files into a fresh folder and makes that the entry. Without a trace where `fill` throws. */
  async put(key: string, fill: (folder: string) => Promise<void>): Promise<string> {
    const folder = join(this.directory, key);
    const fresh = temporaryFolder(this.directory, NEW);
    try {
      await fill(fresh.path);
      const names = (await readdir(fresh.path)).sort();
      const lines = await Promise.all(
        names.map(async (name) => `${digestOf(await readFile(join(fresh.path, name)))}  ${name}\n`),
      );
      await writeFile(join(fresh.path, MANIFEST), lines.join(''));
      await rename(fresh.path, folder);
      fresh.release();
    } catch (error) {
      fresh.remove();
      const code = (error as NodeJS.ErrnoException).code;
      // Another process made the same entry first: it is as good as ours, if it is whole.
      if ((code === 'ENOTEMPTY' || code === 'EEXIST') && (await this.get(key)) !== undefined) return folder;
      throw error;
    }
    return folder;
  }
}

/** The name of an entry: a digest over everything that went into it. */
export function cacheKey(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}\n`).update(part);
  return hash.digest('hex');
}

/** How folders begin that are not entries yet, or no longer. */
export const NEW = '.new-';

/** The manifest has the format of `sha256sum`, so that it can be checked by hand. */
const MANIFEST = 'SHA256SUMS';

function parseManifest(text: string): [name: string, digest: string][] {
  const lines = text.split('\n').filter((line) => line !== '');
  if (lines.length === 0) throw new Error('the manifest is empty');
  return lines.map((line) => {
    const match = /^([0-9a-f]{64}) {2}([^/]+)$/.exec(line);
    if (!match?.[1] || !match[2]) throw new Error('the manifest is damaged');
    return [match[2], match[1]];
  });
}

/** Where compiled programs are kept. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  if (environment.MILLRACE_CACHE_DIR) return resolve(environment.MILLRACE_CACHE_DIR);
  if (environment.XDG_CACHE_HOME) return join(environment.XDG_CACHE_HOME, 'millrace');
  return join(homedir(), '.cache', 'millrace');
}

/** Makes the directory, for its owner alone; the reason where it cannot be trusted or written. */
async function makePrivate(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const state = await lstat(directory);
    const me = process.getuid?.();
    if (!state.isDirectory()) return 'it is not a directory';
    if (me !== undefined && state.uid !== me) return `it belongs to user ${state.uid}, not to ${me}`;
    if ((state.mode & 0o022) !== 0) return `others may write to it (mode ${(state.mode & 0o777).toString(8)})`;
    if ((state.mode & 0o077) !== 0) await chmod(directory, 0o700);
    temporaryFolder(directory, NEW).remove();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
