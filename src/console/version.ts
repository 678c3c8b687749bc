import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** From the package itself, by its own name: the same in a clone and where it is installed. */
export function version(): string {
  return (createRequire(import.meta.url)('millrace/package.json') as { version: string }).version;
}

/** The version and which build of it: `0.1.0+1a2b3c4d5e6f`. The same sources give the same build. */
export function buildOf(): string {
  const id = buildId();
  return id === undefined ? version() : `${version()}+${id}`;
}

/** A digest of the sources, which the build leaves beside its output; there is none where sources run as they are. */
function buildId(): string | undefined {
  try {
    return readFileSync(join(dirname(fileURLToPath(import.meta.url)), '..', 'build-id'), 'utf8').trim();
  } catch {
    return undefined;
  }
}
