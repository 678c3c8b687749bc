import { homedir } from 'node:os';
import { join } from 'node:path';

/** Default locations of a user's files: XDG's base directories. */

/** Jobs, their progress and their hits. */
export const dataDirectory = (environment: NodeJS.ProcessEnv = process.env): string =>
  join(base(environment.XDG_DATA_HOME, '.local', 'share'), 'millrace');

/** The data directory of a command without `--data-dir`. */
export const defaultDataDirectory = (): string =>
  process.env.MILLRACE_DATA_DIR ?? process.env.MILLRACE_HOME ?? dataDirectory();

/** Settings. */
export const configFile = (environment: NodeJS.ProcessEnv = process.env): string =>
  join(base(environment.XDG_CONFIG_HOME, '.config'), 'millrace', 'config.json');

/** XDG requires that a relative path is ignored. */
const base = (given: string | undefined, ...otherwise: readonly string[]): string =>
  given?.startsWith('/') ? given : join(homedir(), ...otherwise);

/** Abbreviates the home folder in a path as ~. */
export function tilde(path: string, home: string = homedir()): string {
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
