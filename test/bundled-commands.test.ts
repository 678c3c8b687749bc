import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { isShort, patience } from './tier.js';

/** Commands, which the build has in few files (`dist/command`), do what their modules do. */
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-bundled-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Where V8 counts coverage, modules are loaded one by one. */
function run(args: readonly string[], fromModules: boolean) {
  const coverage = join(folder, 'coverage');
  const env = { ...process.env, ...(fromModules ? { NODE_V8_COVERAGE: coverage } : {}) };
  if (!fromModules) Reflect.deleteProperty(env, 'NODE_V8_COVERAGE');
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { env, maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** The number of modules of this package that runs from modules have loaded. Each process and thread writes a file. */
function loadedModules(): number {
  const files = readdirSync(join(folder, 'coverage')).map((name) =>
    readFileSync(join(folder, 'coverage', name), 'utf8'),
  );
  const urls = files.flatMap((text) =>
    (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url }) => url),
  );
  return new Set(urls.filter((url) => url.includes('/dist/'))).size;
}

test('words of a device come from few files and from modules alike', { timeout: patience(120_000) }, async () => {
  const args = ['words', '?d?d?d', '--device', 'interpreter'];
  const bundled = await run(args, false);
  expect(bundled.code).toBe(0);
  const lines = Array.from({ length: 1000 }, (_, index) => `${String(index).padStart(3, '0')}\n`).join('');
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  expect(digest(bundled.stdout)).toBe(digest(lines));
  if (isShort) return;
  const modules = await run(args, true);
  expect(digest(modules.stdout)).toBe(digest(lines));
  expect(loadedModules()).toBeGreaterThan(200);
});

test('a user’s file imports the language that runs it', { timeout: patience(120_000) }, async () => {
  const file = join(folder, 'marked.ts');
  const kernel = (condition: string): string => `import { items, when } from 'millrace';
import { u32, type In } from 'millrace/kernel';
const seven: In<'u32'> = 7;
export default items('marked', { hit: { n: u32 } }, ({ index, emit }) => {
  when(${condition}, () => emit({ n: index.lo }));
});
`;
  const args = ['run', file, '--device', 'interpreter', '--space', '100', '--no-ledger'];
  writeFileSync(file, kernel('index.lo.rem(50).eq(seven)'));
  expect(await run(args, false)).toMatchObject({ code: 0, stdout: '    7           7\n   57          57\n' });
  if (isShort) return;
  writeFileSync(file, kernel('index.lo.rem(50)'));
  const wrong = await run(args, false);
  expect(wrong).toMatchObject({ code: 74, stderr: expect.stringContaining('marked.ts:5:') });
  expect(wrong).toEqual(await run(args, true));
});

const workloads = ['block', 'words', 'uhash', 'encode', 'gaps'];
const others =
  'bench cache completion dashboard devices doctor export fleet init jobs kernel playground run schema selftest tour tune';
test.skipIf(isShort).each([...workloads, ...others.split(' ')])(
  '`millrace %s` has the same help and the same errors',
  { timeout: patience(60_000) },
  async (command) => {
    const calls = [
      [command, '--help'],
      [command, '--no-such-option'],
    ];
    if (workloads.includes(command)) {
      calls.push([command, 'solve', '/no/such/file', join(folder, 'out'), '--device', 'cuda:99']);
    }
    for (const args of calls) expect(await run(args, false)).toEqual(await run(args, true));
  },
);
