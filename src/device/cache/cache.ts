import { createHash, randomUUID } from 'node:crypto';
import { chmod, lstat, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import { cacheDirectory } from './cache-directory.js';
import { type TrustProblem, trustProblem } from './cache-trust.js';
import { createFolder } from './folder.js';
import { temporaryFolder } from './temporary.js';

/**
 * Compiled programs on disk, for any device. An entry is a folder named by a digest of all its inputs. It holds files
 * and a manifest with their digests, which are checked before each use because the files are executed. The folder is
 * created under another name and renamed, so an entry is complete or absent even with concurrent writers.
 */
export class DiskCache {
  readonly directory: string;
  /** Why this is not the default directory, and what to do about it. */
  readonly warning: string | undefined;

  private constructor(directory: string, warning?: string) {
    this.directory = directory;
    this.warning = warning;
  }

  /**
   * Opens the cache. If its directory is not safe or cannot be used, opens one that is removed when the process ends, and
   * warns once. Throws `io` if that is not safe either.
   */
  static async open(environment: NodeJS.ProcessEnv = process.env): Promise<DiskCache> {
    const directory = cacheDirectory(environment);
    const problem = await preparePrivate(directory);
    if (problem === undefined) return new DiskCache(directory);
    const { fault, advice } = problem;
    const temporaryProblem = await trustProblem(join(tmpdir(), randomUUID()));
    if (temporaryProblem) throw noSafeDirectory(directory, fault, temporaryProblem);
    const warning = `${directory} is not used as a cache: ${fault}. Programs are compiled again in each run; to keep them, ${advice}`;
    if (!emittedWarnings.has(warning)) process.emitWarning(warning, 'MillraceWarning');
    emittedWarnings.add(warning);
    return new DiskCache(temporaryFolder(tmpdir(), 'millrace-cache-').path, warning);
  }

  /** Opens the cache only to read it: creates nothing. Undefined if its directory is not safe. */
  static async openToRead(environment: NodeJS.ProcessEnv = process.env): Promise<DiskCache | undefined> {
    const directory = cacheDirectory(environment);
    return (await trustProblem(directory)) ? undefined : new DiskCache(directory);
  }

  /** Opens the cache, without warning or substitute: undefined if its directory is not safe or cannot be used. */
  static async openIfUsable(environment: NodeJS.ProcessEnv = process.env): Promise<DiskCache | undefined> {
    const directory = cacheDirectory(environment);
    return (await preparePrivate(directory)) ? undefined : new DiskCache(directory);
  }

  /**
   * Returns the entry's folder after checking it; undefined if there is none. Deletes a damaged entry, and one that
   * lacks a file in `needed`, as another version may have written it.
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

  /** Calls `fill` to put files into a new folder and makes that the entry. Leaves nothing behind if `fill` throws. */
  async put(key: string, fill: (folder: string) => Promise<void>): Promise<string> {
    const folder = join(this.directory, key);
    const fresh = temporaryFolder(this.directory, UNFINISHED_PREFIX);
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
      // Another process made the same entry first. Ours is not needed if that one is intact.
      if ((code === 'ENOTEMPTY' || code === 'EEXIST') && (await this.get(key)) !== undefined) return folder;
      throw error;
    }
    return folder;
  }
}

/** The name of an entry: a digest of all its inputs. */
export function cacheKey(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}\n`).update(part);
  return hash.digest('hex');
}

/** The prefix of folders that are not entries yet, or no longer. */
export const UNFINISHED_PREFIX = '.new-';

/** Warnings already emitted. */
const emittedWarnings = new Set<string>();

function noSafeDirectory(
  directory: string,
  fault: string,
  { fault: temporaryFault, advice }: TrustProblem,
): MillraceError {
  return new MillraceError({
    code: 'io',
    message: `compiled programs cannot be kept safely: ${directory}: ${fault}; ${tmpdir()}: ${temporaryFault}`,
    asked: 'a directory for compiled programs',
    advice,
  });
}

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

/** Creates the directory with access for its owner only. Returns the reason if it cannot be trusted or written. */
async function preparePrivate(directory: string): Promise<TrustProblem | undefined> {
  try {
    const before = await trustProblem(directory);
    if (before) return before;
    createFolder(directory, 0o700);
    const after = await trustProblem(directory);
    if (after) return after;
    if (((await lstat(directory)).mode & 0o077) !== 0) await chmod(directory, 0o700);
    temporaryFolder(directory, UNFINISHED_PREFIX).remove();
    return undefined;
  } catch (error) {
    return { fault: (error as Error).message, advice: 'set MILLRACE_CACHE_DIR to a writable directory' };
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
