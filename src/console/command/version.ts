import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's folder, in a clone and in an installation. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** Returns the version from the package's own package.json, the same in a clone and in an installation. */
export function version(): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

/** Returns the version with the build: `0.2.0+1a2b3c4d5e6f`. The same sources give the same build. */
export function buildVersion(): string {
  const id = readBuildFile('build-id'); // a digest of the sources
  return id === undefined ? version() : `${version()}+${id}`;
}

/** Reads a file that the build writes beside its output; undefined if the sources run directly. */
function readBuildFile(name: 'build-id' | 'commit'): string | undefined {
  try {
    return readFileSync(join(dirname(fileURLToPath(import.meta.url)), '..', '..', name), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * Returns the Git commit of the clone that contains this code, or the one it was built from. `7ccc72518a2b with changes`
 * if files differ from it; undefined if neither is known.
 */
export function sourceCommit(): string | undefined {
  return (existsSync(join(root, '.git')) ? commitIn() : undefined) ?? readBuildFile('commit');
}

/** Undefined if Git is not installed or refuses the folder. */
function commitIn(): string | undefined {
  try {
    const { execFileSync } = process.getBuiltinModule('node:child_process'); // 5 ms to load, and rarely needed
    const git = (...args: string[]): string =>
      execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const commit = git('rev-parse', '--short=12', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no') === '' ? commit : `${commit} with changes`;
  } catch {
    return undefined;
  }
}
