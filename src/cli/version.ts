import { createRequire } from 'node:module';

/** From the package itself, by its own name: the same in a clone and where it is installed. */
export function version(): string {
  return (createRequire(import.meta.url)('millrace/package.json') as { version: string }).version;
}
