import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkWritable, isSameFile, readText, replaceFile } from './disk.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-disk-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('writes and replaces, leaving nothing else behind', async () => {
  const path = join(folder, 'a.out');
  await replaceFile(path, '1\n');
  await replaceFile(path, '2\n');
  expect(await readText(path)).toBe('2\n');
  expect(readdirSync(folder)).toEqual(['a.out']);
});

it('writes through a link instead of over it', async () => {
  writeFileSync(join(folder, 'real'), 'old');
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  await replaceFile(join(folder, 'link'), 'new');
  expect(readFileSync(join(folder, 'real'), 'utf8')).toBe('new');
  expect(await isSameFile(join(folder, 'real'), join(folder, 'link'))).toBe(true);
});

it('writes in place to a special file', async () => {
  await replaceFile('/dev/null', 'x');
  expect(await readText('/dev/null')).toBe('');
});

it('reports what is wrong with a path, and leaves no temporary file', async () => {
  mkdirSync(join(folder, 'sub'));
  await expect(readText(join(folder, 'none'))).rejects.toMatchObject({ code: 'io' });
  await expect(readText(folder)).rejects.toThrow('it is a folder');
  await expect(replaceFile(join(folder, 'sub'), '')).rejects.toThrow('it is a folder');
  await expect(replaceFile(join(folder, 'none', 'a'), '')).rejects.toThrow('no such file or folder');
  await expect(checkWritable(join(folder, 'none', 'a'))).rejects.toMatchObject({ code: 'io' });
  await expect(checkWritable(join(folder, 'a'))).resolves.toBeUndefined();
  expect(readdirSync(folder)).toEqual(['sub']);
});
