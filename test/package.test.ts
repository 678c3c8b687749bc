import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from './events.js';

const root = fileURLToPath(new URL('..', import.meta.url));

// The package as a user gets it: packed, installed into an empty folder, run by its command name.
let scratch: string;
let packed: { filename: string; files: { path: string }[] };

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'millrace-package-'));
  packed = JSON.parse(npm(root, 'pack', '--json', '--pack-destination', scratch))[0];
}, 120_000);

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test('holds the build, the documents and no tests', () => {
  const paths = packed.files.map((file) => file.path);
  expect(paths).toEqual(
    expect.arrayContaining([
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'dist/cli/main.js',
      'dist/index.d.ts',
      'dist/browser/millrace.js',
      'dist/build-id',
      'docs/events.schema.json',
    ]),
  );
  const stray = /\.(test|test-d|bench)\.|^(src|test|scripts)\/|\.source-digest$/;
  expect(paths.filter((path) => stray.test(path))).toEqual([]);
});

test('could be published as it is', () => {
  const tarball = join(scratch, packed.filename);
  const told = JSON.parse(
    npm(scratch, 'publish', tarball, '--dry-run', '--json', '--tag', 'latest', '--fetch-retries', '0'),
  );
  const { name, version, files } = (told.millrace ?? told) as { name: string; version: string; files: object[] };
  const { version: ours } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect({ name, version, files: files.length }).toEqual({
    name: 'millrace',
    version: ours,
    files: packed.files.length,
  });
  // One version everywhere.
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { version: string };
  expect(lock.version).toBe(ours);
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toContain(`[${ours}]`);
  expect(readFileSync(join(root, 'docs', 'releases', `${ours}.md`), 'utf8')).toMatch(`# Millrace ${ours}\n`);
});

test('installs into an empty folder without install scripts and lists the interpreter', { timeout: 180_000 }, () => {
  const folder = join(scratch, 'user');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  npm(
    folder,
    'install',
    '--prefer-offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    join(scratch, packed.filename),
  );

  const text = run(folder, 'npx', ['--no-install', 'millrace', 'devices', '--json']);
  const told = eventsOf(text).at(-1);
  expect(told?.devices).toContainEqual(expect.objectContaining({ id: 'interpreter' }));
  expect(told?.absent).toBeInstanceOf(Array);

  const names = run(folder, process.execPath, [
    '--input-type=module',
    '--eval',
    "const all = [await import('millrace'), await import('millrace/kernel')]; console.log(all.map((m) => typeof m).join());",
  ]);
  expect(names).toBe('object,object\n');
});

function npm(cwd: string, ...args: string[]): string {
  return run(cwd, 'npm', args);
}

/** Standard output; a failure throws with standard error in its message. */
function run(cwd: string, command: string, args: readonly string[]): string {
  // `npm test` tells its children about this package; npm in the user's folder must not hear of it. Settings a person
  // made by environment (npm_config_registry and the like) stay.
  const inherited = /^npm_(?!config_)|^npm_config_.*_prefix$/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !inherited.test(name)));
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
