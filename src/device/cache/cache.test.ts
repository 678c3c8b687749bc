import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cacheKey, DiskCache } from './cache.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
});
const opened: DiskCache[] = [];
afterEach(async () => {
  for (const path of [folder, ...opened.splice(0).map(({ directory }) => directory)])
    await rm(path, { recursive: true, force: true });
});

const open = async (name = 'cache'): Promise<DiskCache> => {
  const cache = await DiskCache.open({ MILLRACE_CACHE_DIR: join(folder, name) });
  opened.push(cache);
  return cache;
};
const fill = (text: string) => (into: string) => writeFile(join(into, 'file'), text);

test('a stored entry is found again, in a directory only the owner can open', async () => {
  const cache = await open();
  expect(cache.warning).toBeUndefined();
  expect((await stat(cache.directory)).mode & 0o777).toBe(0o700);
  expect(await cache.get('key')).toBeUndefined();
  const entry = await cache.put('key', fill('hello'));
  const again = await (await open()).get('key');
  expect(again).toBe(entry);
  expect(await readFile(join(entry, 'file'), 'utf8')).toBe('hello');
});

test('the directory follows XDG_CACHE_HOME', async () => {
  const cache = await DiskCache.open({ XDG_CACHE_HOME: folder });
  expect(cache.directory).toBe(join(folder, 'millrace'));
});

test.each([
  ['a changed file', (entry: string) => writeFile(join(entry, 'file'), 'hellO')],
  ['a missing file', (entry: string) => rm(join(entry, 'file'))],
  ['a missing manifest', (entry: string) => rm(join(entry, 'SHA256SUMS'))],
  ['a truncated manifest', (entry: string) => writeFile(join(entry, 'SHA256SUMS'), 'abc')],
  ['an empty manifest', (entry: string) => writeFile(join(entry, 'SHA256SUMS'), '')],
])('%s: the entry is deleted and can be stored again', async (_what, damage) => {
  const cache = await open();
  await damage(await cache.put('key', fill('hello')));
  expect(await cache.get('key')).toBeUndefined();
  expect(await readdir(cache.directory)).toEqual([]);
  await cache.put('key', fill('hello'));
  expect(await cache.get('key')).toBeDefined();
});

test('a directory that others can write to is neither used nor changed', async () => {
  await mkdir(join(folder, 'open'));
  await chmod(join(folder, 'open'), 0o777);
  const cache = await open('open');
  expect(cache.warning).toMatch(/other users can write to it \(mode 777\)/);
  expect(cache.directory).not.toBe(join(folder, 'open'));
  expect((await stat(cache.directory)).mode & 0o777).toBe(0o700);
  await cache.put('key', fill('hello'));
  expect(await readdir(join(folder, 'open'))).toEqual([]);
});

test('a directory whose parent others can write to is not used, and the warning says how to fix it', async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', note);
  await mkdir(join(folder, 'shared', 'below'), { recursive: true });
  await chmod(join(folder, 'shared'), 0o775);
  for (const name of ['shared/below', 'shared/not/there/yet']) {
    const cache = await open(name);
    expect(cache.warning).toContain(
      `other users can write to its parent directory ${join(folder, 'shared')} (mode 775)`,
    );
    expect(cache.warning).toContain(`chmod go-w ${join(folder, 'shared')}`);
    await cache.put('key', fill('hello'));
  }
  expect(await readdir(join(folder, 'shared'))).toEqual(['below']);
  await new Promise(setImmediate);
  process.off('warning', note);
  expect(warnings).toEqual([expect.stringContaining('below is not'), expect.stringContaining('yet is not')]);

  await chmod(join(folder, 'shared'), 0o1777); // sticky like /tmp: users cannot rename each other's files
  expect((await open('shared/below')).warning).toBeUndefined();
});

test('symbolic links in the path are followed: their targets and their own directories are checked', async () => {
  await mkdir(join(folder, 'shared', 'real'), { recursive: true });
  await mkdir(join(folder, 'own'));
  await symlink('../shared/./real', join(folder, 'own', 'link'));
  expect((await open('own/link/cache')).warning).toBeUndefined();
  await chmod(join(folder, 'shared'), 0o777);
  expect((await open('own/link/cache')).warning).toContain(
    `other users can write to its parent directory ${join(folder, 'shared')}`,
  );
  await chmod(join(folder, 'shared'), 0o755);
  await chmod(join(folder, 'own'), 0o777);
  expect((await open('own/link/cache')).warning).toContain(
    `other users can write to its parent directory ${join(folder, 'own')}`,
  );
  await chmod(join(folder, 'own'), 0o755);
  await chmod(join(folder, 'shared', 'real', 'cache'), 0o777);
  expect((await open('own/link/cache')).warning).toContain('other users can write to it (mode 777)');
  await symlink('loop', join(folder, 'loop'));
  expect((await open('loop/cache')).warning).toContain('a loop of symbolic links');
});

test('a parent directory that belongs to another user causes a warning', async ({ skip }) => {
  if (process.getuid?.() !== 0) return skip('only root can give a directory to another user');
  await mkdir(join(folder, 'theirs', 'cache'), { recursive: true, mode: 0o700 });
  await chown(join(folder, 'theirs'), 12345, 12345);
  expect((await open('theirs/cache')).warning).toContain(
    `its parent directory ${join(folder, 'theirs')} belongs to user 12345`,
  );
});

test('opening fails if the temporary directory is not safe either', async () => {
  await mkdir(join(folder, 'open'));
  await chmod(join(folder, 'open'), 0o777);
  const before = process.env.TMPDIR;
  process.env.TMPDIR = join(folder, 'open');
  try {
    await expect(open('open/cache')).rejects.toMatchObject({ code: 'io', advice: expect.stringContaining('chmod') });
    expect(await readdir(join(folder, 'open'))).toEqual([]);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
});

test('a directory that others can only read is made private', async () => {
  await mkdir(join(folder, 'readable'), { mode: 0o755 });
  const cache = await open('readable');
  expect(cache.warning).toBeUndefined();
  expect((await stat(cache.directory)).mode & 0o777).toBe(0o700);
});

test("another user's directory is not used", async ({ skip }) => {
  if (process.getuid?.() === 0) {
    await mkdir(join(folder, 'theirs'), { mode: 0o700 });
    await chown(join(folder, 'theirs'), 12345, 12345);
    expect((await open('theirs')).warning).toMatch(/belongs to user 12345/);
  } else {
    skip('only root can give a directory to another user');
  }
});

test('if the path is a file, a private directory is used instead', async () => {
  await writeFile(join(folder, 'cache'), '');
  expect((await open()).warning).toBeDefined();
});

test.skipIf(process.platform !== 'linux')(
  'if the path is in /proc, a private directory is used instead, with a warning',
  async () => {
    const cache = await DiskCache.open({ MILLRACE_CACHE_DIR: '/proc/x' });
    expect(cache.warning).toContain('/proc/x is not used as a cache: cannot create /proc/x');
    await cache.put('key', fill('hello'));
    expect(await cache.get('key')).toBeDefined();
  },
);

test('a failed fill leaves nothing behind', async () => {
  const cache = await open();
  await expect(cache.put('key', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await readdir(cache.directory)).toEqual([]);
});

test('concurrent writers of one entry all get the same entry', async () => {
  const cache = await open();
  const entries = await Promise.all(Array.from({ length: 8 }, () => cache.put('key', fill('hello'))));
  expect(new Set(entries).size).toBe(1);
  expect(await readdir(cache.directory)).toEqual(['key']);
});

test('keys depend on the boundaries between their parts', () => {
  expect(cacheKey(['ab', 'c'])).not.toBe(cacheKey(['a', 'bc']));
});
