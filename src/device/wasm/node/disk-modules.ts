import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { cacheKey, DiskCache } from '../../cache/cache.js';
import { FEATURES, type ModuleStore } from '../assemble.js';

/**
 * Assembled modules in the cache of compiled programs. A cache that cannot be used is not reported: without it modules are
 * assembled in some milliseconds.
 */
export class DiskModules implements ModuleStore {
  readonly #reading = DiskCache.openToRead().catch(() => undefined);

  async get(text: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    try {
      const folder = await (await this.#reading)?.get(keyOf(text), MODULE);
      return folder === undefined ? undefined : new Uint8Array(await readFile(join(folder, MODULE)));
    } catch {
      return undefined;
    }
  }

  async put(text: string, bytes: Uint8Array): Promise<void> {
    try {
      const cache = await DiskCache.openIfUsable();
      await cache?.put(keyOf(text), (folder) => writeFile(join(folder, MODULE), bytes));
    } catch {
      // The disk may be full.
    }
  }
}

const MODULE = 'kernel.wasm';

const keyOf = (text: string): string => cacheKey(['wasm', text, JSON.stringify(FEATURES), wabtVersion()]);

function wabtVersion(): string {
  version ??= (createRequire(import.meta.url)('wabt/package.json') as { readonly version: string }).version;
  return version;
}
let version: string | undefined;
