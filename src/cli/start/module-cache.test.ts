import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheEntries, clearEntries } from '../../device/cache/cache-entries.js';
import { cacheModules } from './module-cache.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-modules-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the cache of modules', () => {
  const folders: string[] = [];
  const enable = (folder: string): void => void folders.push(folder);
  const isUsed = async (environment: NodeJS.ProcessEnv): Promise<boolean> => {
    folders.length = 0;
    const returned = await cacheModules({ MILLRACE_CACHE_DIR: directory, ...environment }, enable);
    expect(folders).toEqual(returned === undefined ? [] : [returned]);
    return returned !== undefined;
  };

  it('is in the cache of compiled programs', async () => {
    expect(await isUsed({})).toBe(true);
    expect(folders).toEqual([join(directory, 'millrace-modules')]);
  });

  it('is not used in a directory that others can write to, or that does not exist', async () => {
    chmodSync(directory, 0o777);
    expect(await isUsed({})).toBe(false);
    expect(await isUsed({ MILLRACE_CACHE_DIR: join(directory, 'absent') })).toBe(false);
    expect(existsSync(join(directory, 'absent'))).toBe(false);
  });

  it('is not used if others can write to its own folder, or could have put it there', async () => {
    const folder = join(directory, 'millrace-modules');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    expect(await isUsed({})).toBe(false);
    rmSync(folder, { recursive: true });
    const elsewhere = join(directory, 'elsewhere');
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, folder);
    expect(await isUsed({})).toBe(false);
  });

  it('is left out without an error if its folder cannot be made', async () => {
    writeFileSync(join(directory, 'millrace-modules'), 'a file');
    expect(await isUsed({})).toBe(false);
  });

  it('is not used where Node has another one or none, nor while coverage is counted', async () => {
    for (const name of ['NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE', 'NODE_V8_COVERAGE'])
      expect(await isUsed({ [name]: '1' }), name).toBe(false);
    expect(await cacheModules({ MILLRACE_CACHE_DIR: directory }, null)).toBeUndefined();
  });

  it('is filled by a command, listed and cleared', async ({ skip }) => {
    if (!('enableCompileCache' in nodeModule)) return skip('Node 22.8 and later');
    const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
    const env = { ...process.env, MILLRACE_CACHE_DIR: directory, NODE_V8_COVERAGE: undefined };
    const run = () => spawnSync(process.execPath, [main, 'words', '?d?d', '--keyspace'], { env, encoding: 'utf8' });
    expect(run().stdout.trim()).toBe('100');
    const [entry, ...others] = await cacheEntries(directory);
    expect(entry).toMatchObject({ name: 'millrace-modules', kind: 'modules' });
    expect(entry?.bytes).toBeGreaterThan(100_000);
    expect(others).toEqual([]);
    expect(run().stdout.trim()).toBe('100');
    expect(await clearEntries(directory, await cacheEntries(directory))).toHaveLength(1);
    expect(await cacheEntries(directory)).toEqual([]);
  });
});
