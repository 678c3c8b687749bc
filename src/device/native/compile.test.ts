import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handwritten } from '../../../test/handwritten.js';
import { Origin } from '../../kernel/language/origin.js';
import { DiskCache } from '../cache/cache.js';
import { compile, compilerError } from './compile.js';
import { type Compiler, findCompiler } from './compiler.js';
import { thisCpu } from './cpu.js';

let folder: string;
let cache: DiskCache;
let compiler: Compiler | { reason: string };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  cache = await DiskCache.open({ MILLRACE_CACHE_DIR: folder });
  compiler = await findCompiler();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const source = (text: string) => handwritten('sample', text);
const good = 'uint64_t millrace_run(const uint64_t *l, uint64_t b, uint64_t e) { return e - b; }';

test('text is compiled once, kept beside the library, and found again', async ({ skip }) => {
  if ('reason' in compiler) return skip(compiler.reason);
  const first = await compile(source(good), compiler, thisCpu(), cache);
  expect(first.cached).toBe(false);
  const again = await compile(source(good), compiler, thisCpu(), cache);
  expect(again).toMatchObject({ cached: true, path: first.path });
  expect(await readFile(first.path.replace(/\.so$/, '.c'), 'utf8')).toContain('millrace_run');
});

test('another command, or another compiler at the same path, gets a separate entry', async ({ skip }) => {
  if ('reason' in compiler) return skip(compiler.reason);
  const text = good.replace('e - b', 'NUMBER');
  const wrapper = join(folder, 'wrapped-cc');
  const write = (number: number) =>
    writeFile(wrapper, `#!/bin/sh\n# ${number}\nexec ${(compiler as Compiler).path} -DNUMBER=${number} "$@"\n`, {
      mode: 0o755,
    });
  const found = async (command: string): Promise<Compiler> => {
    const one = await findCompiler({ MILLRACE_CC: command, PATH: `${process.env.PATH}:/${Math.random()}` }); // asked again
    if ('reason' in one) throw new Error(one.reason);
    return one;
  };
  const made = async (one: Compiler) => (await compile(source(text), one, thisCpu(), cache)).cached;
  const one = await found(`${compiler.path} -DNUMBER=1`);
  const two = await found(`${compiler.path} -DNUMBER=2`);
  expect([await made(one), await made(two), await made(one), await made(two)]).toEqual([false, false, true, true]);
  await write(3);
  const before = await found(wrapper);
  await write(42);
  const after = await found(wrapper);
  expect(after.version).toBe(before.version);
  expect([await made(before), await made(after)]).toEqual([false, false]);
  const paths = process.env.CPATH;
  process.env.CPATH = folder;
  try {
    expect([await made(one), await made(one)]).toEqual([false, true]);
  } finally {
    if (paths === undefined) delete process.env.CPATH;
    else process.env.CPATH = paths;
  }
});

test('a damaged library is built again', async ({ skip }) => {
  if ('reason' in compiler) return skip(compiler.reason);
  const text = `${good} // damaged`;
  const { path } = await compile(source(text), compiler, thisCpu(), cache);
  await writeFile(path, 'no library');
  expect((await compile(source(text), compiler, thisCpu(), cache)).cached).toBe(false);
  expect((await compile(source(text), compiler, thisCpu(), cache)).cached).toBe(true);
});

test('two concurrent requests share one compiler run', async ({ skip }) => {
  if ('reason' in compiler) return skip(compiler.reason);
  const text = `${good} // twice`;
  const results = await Promise.all([1, 2].map(() => compile(source(text), compiler as Compiler, thisCpu(), cache)));
  expect(results.map(({ cached }) => cached)).toEqual([false, false]);
  expect(results[0]!.path).toBe(results[1]!.path);
});

test('a compile error shows the generated line and the TypeScript line', async ({ skip }) => {
  if ('reason' in compiler) return skip(compiler.reason);
  const origin = Origin.here();
  const broken = { ...source(`${good}\nint broken = nowhere;`), lineOrigins: [undefined, undefined, origin] };
  const error = await compile(broken, compiler, thisCpu(), cache).catch((reason) => reason);
  expect(error.code).toBe('device-compile');
  expect(error.message).toMatch(/kernel sample: the C compiler rejected/);
  expect(error.message).toMatch(/error: .*nowhere/);
  expect(error.message).toContain('line 3: int broken = nowhere;');
  expect(error.message).toContain('compile.test.ts');
});

test('an error without a line shows the output of the compiler', () => {
  const error = compilerError(source(good), 'cc 1', 'cc: fatal problem\nmore', 'file.c');
  expect(error.message).toContain('cc: fatal problem');
});

test.each([
  [{ PATH: '/nonexistent' }, /no C compiler: cc not found, gcc not found, clang not found; install gcc or clang/],
  [{ PATH: '/nonexistent', MILLRACE_CC: 'tcc -x' }, /in MILLRACE_CC cannot be used: tcc not found/],
  [{ MILLRACE_CC: '/bin/false' }, /\/bin\/false does not run/],
])('gives a reason if there is no compiler in %o', async (environment, reason) => {
  expect(await findCompiler(environment)).toEqual({ reason: expect.stringMatching(reason) });
});

test('MILLRACE_CC may add arguments to the compiler', async ({ skip }) => {
  if ('reason' in compiler) return skip(compiler.reason);
  const found = await findCompiler({ MILLRACE_CC: `${compiler.path} -O0`, PATH: '' });
  expect(found).toMatchObject({ path: compiler.path, arguments: ['-O0'] });
});
