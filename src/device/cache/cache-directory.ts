import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** The directory of compiled programs. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  if (environment.MILLRACE_CACHE_DIR) return resolve(environment.MILLRACE_CACHE_DIR);
  if (environment.XDG_CACHE_HOME) return join(environment.XDG_CACHE_HOME, 'millrace');
  return join(homedir(), '.cache', 'millrace');
}

/**
 * The folder in it that has V8's code of the modules that commands load, by Node's version (src/cli/start/module-cache.ts).
 * Not a name that a user's folder has: `millrace cache --clear` deletes it.
 */
export const MODULES_FOLDER = 'millrace-modules';
