import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where things of a person's are kept unless told otherwise: XDG's base directories. */

/** Jobs, their progress and their hits. */
export const dataDirectory = (environment: NodeJS.ProcessEnv = process.env): string =>
  join(base(environment.XDG_DATA_HOME, '.local', 'share'), 'millrace');

/** Settings. */
export const configFile = (environment: NodeJS.ProcessEnv = process.env): string =>
  join(base(environment.XDG_CONFIG_HOME, '.config'), 'millrace', 'config.json');

/** XDG says that a relative path is to be ignored. */
const base = (given: string | undefined, ...otherwise: readonly string[]): string =>
  given?.startsWith('/') ? given : join(homedir(), ...otherwise);

/** A path as people write it: the home folder is ~. */
export function tilde(path: string, home: string = homedir()): string {
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
