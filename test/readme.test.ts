import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { listDevices } from '../src/device/registry.js';
import { cleanEnvironment, millrace } from './command-line.js';
import { commandsOf } from './readme/commands.js';
import { examples, type Way } from './readme/examples.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const isLong = process.env.MILLRACE_LONG === '1';
const run = promisify(execFile);

test('the kernel in the README runs as it stands, and its hits are some', async (context) => {
  const { devices } = await listDevices();
  if (!devices.some((device) => device.id === 'native')) return context.skip('no C compiler');
  const code = /<!-- run by test\/readme\.test\.ts -->\n```ts\n([\s\S]*?)```/.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  )?.[1];
  // Inside the package, so that `millrace` is found by its own name.
  const folder = mkdtempSync(join(root, 'dist', 'readme-'));
  try {
    const file = join(folder, 'readme.mjs');
    writeFileSync(file, code ?? '');
    const { stdout } = await run(process.execPath, [file]);
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

describe('commands of README.md, of the workloads’ READMEs and of docs/benchmarks.md', () => {
  const readmes = readdirSync(join(root, 'src', 'workload'), { recursive: true, encoding: 'utf8' })
    .filter((name) => basename(name) === 'README.md')
    .map((name) => join('src', 'workload', name));
  const files = ['README.md', 'docs/benchmarks.md', ...readmes];
  const told = files.flatMap((file) => commandsOf(file, readFileSync(join(root, file), 'utf8')));

  test('each is run by a test, and no test is for one that is gone', () => {
    expect(told.filter(({ command }) => !(command in examples))).toEqual([]);
    const commands = new Set(told.map(({ command }) => command));
    expect(Object.keys(examples).filter((command) => !commands.has(command))).toEqual([]);
  });

  test('each that another test runs is there', () => {
    for (const { by, short, long } of Object.values(examples)) {
      expect(by ?? short ?? long).toBeDefined();
      if (by) expect(readFileSync(join(root, by.file), 'utf8'), by.file).toContain(by.text);
    }
  });

  const home = mkdtempSync(join(tmpdir(), 'millrace-readme-'));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const env = { MILLRACE_DATA_DIR: join(home, 'data') };
  const tried = ({ args, given, check, status = 0 }: Way): void => {
    const folder = mkdtempSync(join(home, 'at-'));
    given?.(folder);
    const ran = millrace(args, { cwd: folder, env });
    expect(ran, args.join(' ')).toMatchObject({ status });
    check(ran, folder);
  };

  for (const [command, { short, long }] of Object.entries(examples)) {
    if (short) test(command, () => tried(short));
    if (long)
      test(`${command}, as it stands`, (context) =>
        isLong ? tried(long) : context.skip('takes longer: npm run test:long'));
  }

  test('npm start', async (context) => {
    if (!isLong) return context.skip('takes longer: npm run test:long');
    const env = { ...cleanEnvironment(), MILLRACE_DATA_DIR: join(home, 'data') };
    const { stdout } = await run('npm', ['start', '--', '--device', 'wasm'], { cwd: root, env });
    for (const workload of ['block', 'words', 'uhash', 'encode', 'gaps'])
      expect(stdout).toMatch(new RegExp(`^ *${workload} .*/s`, 'm'));
    expect(stdout).toContain('nonce 2,083,236,893');
    expect(stdout).toContain('./millrace bench --peers');
  });
});
