import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { commandsOf, isNameOf, type Told } from './readme/commands.js';
import { examples } from './readme/examples.js';
import { follow, missingFrom, root } from './readme/follow.js';
import { isLong, isShort } from './tier.js';

const run = promisify(execFile);

test('the README is short', () => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').split('\n').length;
  expect(lines).toBeLessThanOrEqual(150);
});

// 64 million hashes. test/run.test.ts runs a kernel like it.
test.skipIf(isShort)('the kernel in the README runs unchanged and finds hits', async (context) => {
  if (spawnSync('cc', ['--version']).status !== 0) return context.skip('no C compiler');
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const code = /<!-- run by test\/readme\.test\.ts -->\n```ts\n([\s\S]*?)```/.exec(text)?.[1];
  const output = /<!-- the output of the kernel -->\n```text\n([\s\S]*?)```/.exec(text)?.[1];
  // Inside the package, so that `millrace` is found by its own name.
  const folder = mkdtempSync(join(root, 'dist', 'readme-'));
  try {
    writeFileSync(join(folder, 'vanity.mjs'), code ?? '');
    const { stdout } = await run('node', ['vanity.mjs'], { cwd: folder });
    expect(stdout).toBe(output);
    const hits = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
    expect(hits.length).toBeGreaterThan(0);
    expect(hits).toEqual([...hits].sort((a, b) => a - b));
    for (const hit of hits) {
      const message = Buffer.from('millrace....');
      message.writeUInt32BE(hit, 8);
      expect(createHash('sha256').update(message).digest('hex')).toMatch(/^000000/);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('commands of README.md, of the workloads’ READMEs and of the documents they link to', () => {
  const readmes = readdirSync(join(root, 'src', 'workload'), { recursive: true, encoding: 'utf8' })
    .filter((name) => basename(name) === 'README.md')
    .map((name) => join('src', 'workload', name));
  const docs = [
    'benchmarks',
    'command',
    'dashboard',
    'engine',
    'export',
    'fleet',
    'ledger',
    'network',
    'python',
    'telemetry',
    'tuning',
  ];
  const files = ['README.md', ...readmes, ...docs.map((name) => `docs/${name}.md`)];
  const documented = files.flatMap((file) => commandsOf(file, readFileSync(join(root, file), 'utf8')));
  const first = (command: string) => documented.find((one) => one.command === command);

  test('are all run by a test or name one that is, and no test runs a command that is gone', () => {
    const names = Object.keys(examples);
    const isRun = ({ command }: Told): boolean => names.some((one) => one === command || isNameOf(command, one));
    expect(documented.filter((one) => !isRun(one))).toEqual([]);
    expect(names.filter((command) => !first(command))).toEqual([]);
  });

  test('that another test runs have all their names and options in its code', () => {
    for (const [command, { by, short, all, long }] of Object.entries(examples)) {
      expect(by ?? short ?? all ?? long, command).toBeDefined();
      expect(missingFrom(examples[command] ?? {}, command), command).toEqual([]);
    }
  });

  test('with a name or an option that the other test lacks are found', () => {
    const example = { by: { file: 'test/cli.test.ts', code: ["run(['doctor'], {"] } };
    expect(missingFrom(example, 'millrace doctor --log error')).toEqual(['--log']);
    expect(missingFrom(example, 'millrace devices')).toEqual(['devices']);
    const title = { by: { file: 'test/cli.test.ts', code: ['reports what works, and hides secrets'] } };
    expect(missingFrom(title, 'millrace works')).toEqual(['works']);
    const gone = { by: { file: 'test/cli.test.ts', code: ["run(['no such thing'])"] } };
    expect(missingFrom(gone, 'millrace doctor')).toEqual(["run(['no such thing'])"]);
  });

  const home = mkdtempSync(join(tmpdir(), 'millrace-readme-'));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  for (const [command, { short, all, long }] of Object.entries(examples)) {
    const one = first(command);
    if (short && one) test(command, () => follow(one, short, home));
    if (all && one) test(command, (context) => (isShort ? context.skip('npm run test:all') : follow(one, all, home)));
    if (long && one)
      test(`${command}, unchanged`, (context) =>
        isLong ? follow(one, long, home) : context.skip('takes longer: npm run test:long'));
  }
});
