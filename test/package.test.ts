import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventsOf } from './events.js';
import { byTier, isShort } from './tier.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly bin: { readonly millrace: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

// The package as a user gets it: packed, installed into an empty folder, run by its command name.
let scratch: string;
let packed: { filename: string; files: { path: string }[] };

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'millrace-package-'));
  packed = isShort ? await listFiles() : JSON.parse(npm(root, 'pack', '--json', '--pack-destination', scratch))[0];
});

/** The files that npm would pack, by npm's own module. Packing compresses them, which takes seconds. */
async function listFiles(): Promise<typeof packed> {
  const folders = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'npm'));
  const program = process.env.npm_execpath ?? folders.find((path) => existsSync(path)) ?? '';
  const list = createRequire(realpathSync(program))('npm-packlist') as (tree: object) => Promise<string[]>;
  const paths = await list({ path: root, package: manifest, isProjectRoot: true, edgesOut: new Map() });
  return { filename: `millrace-${manifest.version}.tgz`, files: paths.map((path) => ({ path })) };
}

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test('the package holds the build, the documents, the lint rules and no tests, measurements or source maps', () => {
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
      'docs/releases/0.2.0.md',
    ]),
  );
  const stray =
    /\.(test|test-d|bench)\.|^(test|scripts)\/|^src\/.*(?<!README\.md)$|\.source-digest$|\.map$|measurements/;
  expect(paths.filter((path) => stray.test(path))).toEqual([]);
  const top = new Set(paths.map((path) => path.split('/')[0]));
  expect([...top].sort()).toEqual([
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'dist',
    'docs',
    'examples',
    'lint',
    'package.json',
    'src',
  ]);
});

test('links of its documents lead to its own files; only measurements and sources are left to a clone', () => {
  const paths = packed.files.map((file) => file.path);
  const isThere = (path: string): boolean => paths.some((one) => one === path || one.startsWith(`${path}/`));
  const dead = paths
    .filter((path) => path.endsWith('.md') && path !== 'CONTRIBUTING.md')
    .flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)="([^"]+)"/g)]
        .map(([, link, image]) => link ?? image ?? '')
        .filter((target) => !/^[a-z]+:/.test(target))
        .map((target) => normalize(join(dirname(path), target)).replace(/\/$/, '')),
    )
    .filter((path) => !isThere(path));
  expect(dead.filter((path) => !/^docs\/measurements\b|^(src|test|scripts)\//.test(path))).toEqual([]);
});

test('the package can be published as it is', (ctx) => {
  if (isShort) return ctx.skip('npm packs it a second time: npm run test:all');
  const tarball = join(scratch, packed.filename);
  const report = JSON.parse(
    npm(scratch, 'publish', tarball, '--dry-run', '--json', '--tag', 'latest', '--fetch-retries', '0'),
  );
  const { name, version, files } = (report.millrace ?? report) as { name: string; version: string; files: object[] };
  expect({ name, version, files: files.length }).toEqual({
    name: 'millrace',
    version: manifest.version,
    files: packed.files.length,
  });
});

test('the package has one version everywhere', () => {
  const { version } = manifest;
  if (!isShort) expect(packed.filename).toBe(`millrace-${version}.tgz`);
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { version: string };
  expect(lock.version).toBe(version);
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toContain(`[${version}]`);
  expect(readFileSync(join(root, 'docs', 'releases', `${version}.md`), 'utf8')).toMatch(`# Millrace ${version}\n`);
});

test('the package installs into an empty folder without install scripts and lists the interpreter', () => {
  const folder = join(scratch, 'user');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const tarball = join(scratch, packed.filename);
  if (isShort) layOut(folder, tarball);
  else npm(folder, 'install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball);

  const text = isShort
    ? run(folder, join('node_modules', '.bin', 'millrace'), ['devices', '--json'])
    : run(folder, 'npx', ['--no-install', 'millrace', 'devices', '--json']);
  const done = eventsOf(text).at(-1);
  expect(done?.devices).toContainEqual(expect.objectContaining({ id: 'interpreter' }));
  expect(done?.absent).toBeInstanceOf(Array);

  const names = run(folder, process.execPath, [
    '--input-type=module',
    '--eval',
    "const all = [await import('millrace'), await import('millrace/kernel')]; console.log(all.map((m) => typeof m).join());",
  ]);
  expect(names).toBe('object,object\n');
});

test.skipIf(isShort)('a TypeScript project checks the types of every entry without those of Node', () => {
  const folder = join(scratch, 'types');
  mkdirSync(folder);
  layOut(folder, join(scratch, packed.filename));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const entries = ['millrace', 'millrace/kernel', 'millrace/words', 'millrace/browser'];
  const program = `${entries.map((entry) => `import '${entry}';`).join('\n')}
    import { items, search, u32, when } from 'millrace';
    const kernel = items('k', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
      when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
    });
    for await (const { n } of search(kernel, { space: 10_000, job: { every: 4999 } })) n.toFixed();
    // @ts-expect-error: a job value is missing
    search(kernel, { space: 10_000, job: {} });
  `;
  writeFileSync(join(folder, 'use.ts'), program);
  const flags = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    '',
    '--pretty',
    'false',
  ];
  expect(run(folder, join(root, 'node_modules', '.bin', 'tsc'), [...flags, 'use.ts'])).toBe('');
});

test('without the optional packages, each feature that needs one names it, and the rest works', () => {
  const folder = join(scratch, 'small');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  layOut(folder, join(scratch, packed.filename), Object.keys(manifest.dependencies));

  const modules = join(folder, 'node_modules');
  const installed = [
    join(modules, 'millrace'),
    ...Object.keys(manifest.dependencies).map((name) => join(modules, name)),
  ];
  const megabytes = installed.reduce((sum, path) => sum + bytesIn(realpathSync(path)), 0) / 1e6;
  expect(megabytes).toBeLessThan(40);

  writeFileSync(join(folder, 'search.mjs'), searchText);
  const printed = JSON.parse(
    run(folder, process.execPath, ['search.mjs', byTier('interpreter', 'interpreter,native')]),
  );
  expect(printed.found).toEqual([7, 5006]);
  const reason = (name: string) => `the package ${name} is not installed: npm install ${name}`;
  expect(printed.absent).toMatchObject({
    cuda: reason('koffi'),
    opencl: reason('koffi'),
    webgpu: reason('webgpu'),
    wasm: reason('wabt'),
  });
  expect(printed.refused).toEqual({
    code: 'device-absent',
    advice: expect.stringContaining(reason('wabt')) as unknown,
  });
  expect(printed.ledger).toMatchObject({
    code: 'io',
    summary: 'the package libsql is not installed',
    advice: expect.stringContaining('npm install libsql') as unknown,
  });
  if (isShort) return;

  const millrace = (...args: string[]) => run(folder, join('node_modules', '.bin', 'millrace'), args);
  const doctor = eventsOf(millrace('doctor', '--json'));
  for (const name of Object.keys(manifest.optionalDependencies))
    expect(doctor).toContainEqual(
      expect.objectContaining({ section: 'packages', what: name, state: 'missing', advice: `npm install ${name}` }),
    );
  expect(doctor.at(-1)).toMatchObject({ working: expect.arrayContaining(['native', 'interpreter']) });
  // A pipe, temporary files and a command that stores its job where it can.
  expect(millrace('words', '?d?d', '--device', 'native').split('\n')).toContain('42');
});

/** Prints what a user without optional packages sees. */
const searchText = `
  import { items, listDevices, openDevice, openStore, search, when } from 'millrace';
  const marked = items('marked', { hit: { n: 'u32' } }, ({ index, emit }) => {
    when(index.lo.rem(4999).eq(7), () => emit({ n: index.lo }));
  });
  const found = [];
  const verify = ({ index, n }) => Number(index) === n && n % 4999 === 7;
  for await (const { n } of search(marked, { devices: process.argv[2], space: 10_000, verify })) found.push(n);
  const { absent } = await listDevices();
  const failure = (promise) => promise.then(String, ({ code, summary, advice }) => ({ code, summary, advice }));
  const { code, advice } = await failure(openDevice('wasm'));
  console.log(
    JSON.stringify({
      found,
      absent: Object.fromEntries(absent.map(({ id, reason }) => [id, reason])),
      refused: { code, advice },
      ledger: await failure(openStore('data')),
    }),
  );
`;

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.reduce(
    (sum, entry) => sum + (entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0),
    0,
  );
}

/** Does what npm install does, with links to this checkout's dependencies: npm takes ten seconds to unpack them. */
function layOut(folder: string, tarball: string, packages = allPackages): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  if (isShort) renameSync(unpacked(), join(modules, 'millrace'));
  else {
    run(modules, 'tar', ['-xzf', tarball]);
    renameSync(join(modules, 'package'), join(modules, 'millrace'));
  }
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
  const command = join(modules, 'millrace', manifest.bin.millrace);
  chmodSync(command, 0o755);
  symlinkSync(command, join(modules, '.bin', 'millrace'));
}

/** Returns a copy of the files to be packed: the one of the test before, if there is one. */
function unpacked(): string {
  const used = join(scratch, 'user', 'node_modules', 'millrace');
  if (existsSync(used)) return used;
  const folder = join(scratch, 'package');
  for (const { path } of packed.files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, path));
  }
  return folder;
}

const allPackages = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });

function npm(cwd: string, ...args: string[]): string {
  return run(cwd, 'npm', args);
}

/** Returns standard output; a failure throws with standard error in its message. */
function run(cwd: string, command: string, args: readonly string[]): string {
  // `npm test` sets variables about this package for its children; npm in the user's folder must not see them. Settings
  // from the user's environment (npm_config_registry and the like) stay.
  const inherited = /^npm_(?!config_)|^npm_config_.*_prefix$/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !inherited.test(name)));
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
