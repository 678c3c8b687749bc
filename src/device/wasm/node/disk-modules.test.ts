import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { cacheEntries } from '../../cache/cache-entries.js';
import { assemble } from '../assemble.js';
import { DiskModules } from './disk-modules.js';

const before = process.env.MILLRACE_CACHE_DIR;
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  process.env.MILLRACE_CACHE_DIR = folder;
});
afterEach(async () => {
  if (before === undefined) delete process.env.MILLRACE_CACHE_DIR;
  else process.env.MILLRACE_CACHE_DIR = before;
  await rm(folder, { recursive: true, force: true });
});

const bytes = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** Fills the memory for assembled modules with others. */
async function forget(): Promise<void> {
  for (let i = 0; i < 64; i++) await assemble('other', `(module (memory ${i}))`);
}

test('a module that takes long to assemble is read from disk the next time', async () => {
  const constants = Array.from({ length: 40_000 }, (_, i) => `(drop (i32.const ${i}))`).join('\n');
  const text = `(module (func ${constants}))`;
  const first = await assemble('long', text, new DiskModules());
  expect(first.cached).toBe(false);
  await forget();
  const second = await assemble('long', text, new DiskModules());
  expect(second.cached).toBe(true);
  expect(Buffer.compare(second.bytes, first.bytes)).toBe(0);
  expect((await cacheEntries(folder)).map(({ kind }) => kind)).toEqual(['wasm']);
  // Without the file it would be assembled again.
  await forget();
  await rm(folder, { recursive: true });
  expect((await assemble('long', text, new DiskModules())).cached).toBe(false);
});

test('a stored module is found by its text; a damaged one is not used', async () => {
  await new DiskModules().put('text', bytes);
  const modules = new DiskModules();
  expect(await modules.get('text')).toEqual(bytes);
  expect(await modules.get('text ')).toBeUndefined();
  for (const name of await readdir(folder)) await writeFile(join(folder, name, 'kernel.wasm'), bytes.subarray(1));
  expect(await modules.get('text')).toBeUndefined();
  expect(await readdir(folder)).toEqual([]);
});

test('a folder that others can write to is neither read nor written, without a warning', async () => {
  await new DiskModules().put('text', bytes);
  const [entry = ''] = await readdir(folder);
  const warnings: Error[] = [];
  const hear = (warning: Error): void => void warnings.push(warning);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  await chmod(folder, 0o777);
  const modules = new DiskModules();
  expect(await modules.get('text')).toBeUndefined();
  await modules.put('another', bytes);
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
  expect(await readdir(folder)).toEqual([entry]);
  expect(new Uint8Array(await readFile(join(folder, entry, 'kernel.wasm')))).toEqual(bytes);
});
