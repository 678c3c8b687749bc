import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** From the package itself, by its own name: the same in a clone and where it is installed. */
export function version(): string {
  return (createRequire(import.meta.url)('millrace/package.json') as { version: string }).version;
}

/** The version and which build of it: `0.1.0+1a2b3c4d5e6f`. The same sources give the same build. */
export function buildOf(): string {
  const id = leftByBuild('build-id'); // a digest of the sources
  return id === undefined ? version() : `${version()}+${id}`;
}

/** What the build leaves beside its output; undefined where sources run as they are. */
function leftByBuild(name: 'build-id' | 'commit'): string | undefined {
  try {
    return readFileSync(join(dirname(fileURLToPath(import.meta.url)), '..', '..', name), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * The Git commit that this is: of the clone it runs in, or else the one it was built from. `7ccc72518a2b with changes`
 * where files differ from it; undefined where neither is known.
 */
export function commitOf(): string | undefined {
  const root = dirname(createRequire(import.meta.url).resolve('millrace/package.json'));
  return (existsSync(join(root, '.git')) ? commitIn(root) : undefined) ?? leftByBuild('commit');
}

/** Undefined where Git is not installed, or refuses the folder. */
function commitIn(root: string): string | undefined {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const commit = git('rev-parse', '--short=12', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no') === '' ? commit : `${commit} with changes`;
  } catch {
    return undefined;
  }
}
