import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { cacheDirectory, MODULES_FOLDER } from '../../device/cache/cache-directory.js';
import { trustProblem } from '../../device/cache/cache-trust.js';
import { createFolder } from '../../device/cache/folder.js';

type Enable = (directory: string) => unknown;

/** Node 22.8 and later. */
const { enableCompileCache = null } = nodeModule as { readonly enableCompileCache?: Enable };

/**
 * Makes Node keep V8's code of the modules that are loaded from now on, and use what an earlier process has kept. Returns
 * the folder; undefined if it keeps none, which ends no command. The cache of compiled programs must exist: a command that
 * compiles nothing creates nothing. The folder must be safe, since the code is run.
 */
export async function cacheModules(
  environment: NodeJS.ProcessEnv,
  enable: Enable | null = enableCompileCache,
): Promise<string | undefined> {
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE, NODE_V8_COVERAGE } = environment;
  if (enable === null || NODE_COMPILE_CACHE || NODE_DISABLE_COMPILE_CACHE || NODE_V8_COVERAGE) return undefined;
  try {
    const directory = cacheDirectory(environment);
    if (!existsSync(directory) || (await trustProblem(directory))) return undefined;
    const folder = join(directory, MODULES_FOLDER);
    createFolder(folder, 0o700);
    if (await trustProblem(folder)) return undefined;
    enable(folder);
    return folder;
  } catch {
    return undefined; // no home directory, or one that cannot be written
  }
}
