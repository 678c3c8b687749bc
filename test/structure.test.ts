import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** A folder may import from itself and from folders before it. */
const order = [
  'kernel',
  'device',
  'engine',
  'store',
  'network',
  'fleet',
  'console',
  'export',
  'bench',
  'workload',
  'web',
  'cli',
];

describe('import direction', () => {
  test('finds every form of import', () => {
    const source = [
      "import './a.js';",
      "import x, { type Y } from './b.js';",
      "import type {\n  Z,\n} from './c.js';",
      "export * from './d.js';",
      "const e = await import('./e.js');",
      "type F = import('./f.js').F;",
      "const worker = new URL('./g.js', import.meta.url);",
      "// import './no.js'",
      "/* export * from './no.js' */",
    ].join('\n');
    expect(specifiers(source)).toEqual(['./a.js', './b.js', './c.js', './d.js', './e.js', './f.js', './g.js']);
  });

  test('refuses an import from a later folder, and a package in kernel', () => {
    expect(fault('kernel/ir.ts', '../device/device.js')).toMatch('kernel may not import from device');
    expect(fault('device/cuda/stream.ts', '../../cli/main.js')).toMatch('device may not import from cli');
    expect(fault('kernel/fold.ts', 'node:fs')).toMatch('kernel imports nothing but itself');
    expect(fault('kernel/fold.ts', 'koffi')).toMatch('kernel imports nothing but itself');
    expect(fault('device/native/library.ts', 'koffi')).toBeUndefined();
    expect(fault('workload/block/job.ts', '../../kernel/index.js')).toBeUndefined();
    expect(fault('index.ts', './cli/main.js')).toBeUndefined();
    expect(fault('cli/main.ts', '../index.js')).toMatch('no folder imports src/index.ts');
    expect(fault('odd/new.ts', './other.js')).toMatch('odd is not in the list of folders');
  });

  test('holds in src', () => {
    const faults = sources().flatMap(({ path, text }) =>
      specifiers(text).flatMap((specifier) => fault(path, specifier) ?? []),
    );
    expect(faults).toEqual([]);
  });
});

describe('folders', () => {
  const modules = sources().filter(({ path }) => !isTest(path));
  const paths = new Set(modules.map(({ path }) => path));
  /** The files of src that each file imports when it is loaded. `values` leaves out imports of types alone. */
  const importsOf = (values: boolean): Map<string, string[]> =>
    new Map(
      modules.map(({ path, text }) => [
        path,
        specifiers(withoutLater(values ? withoutTypes(text) : text))
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts'))
          .map((target) => (paths.has(target) ? target : target.replace(/\.ts$/, '.tsx')))
          .filter((target) => paths.has(target) && target !== path),
      ]),
    );

  test('imports of types alone are recognised', () => {
    const source = [
      "import type { A } from './a.js';",
      "import { type B, type C } from './b.js';",
      "import { type D, e } from './c.js';",
      "export type { F } from './d.js';",
      "import './e.js';",
    ].join('\n');
    expect(specifiers(withoutTypes(source))).toEqual(['./c.js', './e.js']);
  });

  test('import cycles are found', () => {
    const edges: [string, string[]][] = [
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['a', 'd']],
      ['d', []],
    ];
    expect(circles(new Map(edges))).toEqual([['a', 'b', 'c']]);
  });

  test('have no import cycles, and cycles of types only within one folder', () => {
    expect(circles(importsOf(true))).toEqual([]);
    const wide = circles(importsOf(false)).filter(
      (files) => new Set(files.map((file) => posix.dirname(file))).size > 1,
    );
    expect(wide).toEqual([]);
  });

  test('with an index.ts are imported through it', () => {
    // The index.ts of a layer or a workload is for users of the package; inside, files import the declaring file.
    const exported =
      readFileSync(join(root, 'package.json'), 'utf8') + readFileSync(join(root, 'src/index.ts'), 'utf8');
    const indexes = [...paths].filter(
      (path) =>
        path.split('/').length > 2 && path.endsWith('/index.ts') && !exported.includes(path.replace(/ts$/, 'js')),
    );
    expect(indexes).toContain('device/conformance/index.ts');
    const bypassing = [...importsOf(false)].flatMap(([path, targets]) =>
      targets.filter((target) =>
        indexes.some((index) => {
          const folder = `${posix.dirname(index)}/`;
          return target.startsWith(folder) && target !== index && !path.startsWith(folder);
        }),
      ),
    );
    expect(bypassing).toEqual([]);
  });

  test('with more than 14 files have a reason in CONTRIBUTING.md', () => {
    const sizes = new Map<string, number>();
    for (const path of paths) sizes.set(posix.dirname(path), (sizes.get(posix.dirname(path)) ?? 0) + 1);
    const reasons = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
    const large = [...sizes].filter(
      ([folder, files]) => files > 14 && !reasons.includes(`\`src/${folder}\` is large:`),
    );
    expect(large).toEqual([]);
  });

  test('are listed in the tree in CONTRIBUTING.md, two levels deep', () => {
    const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
    const [, tree = ''] = /```tree\n([\s\S]*?)```/.exec(text) ?? [];
    const listed: string[] = [];
    let top = '';
    for (const line of tree.split('\n')) {
      const [, indent = '', name] = /^( *)([\w-]+)\//.exec(line) ?? [];
      if (name === undefined) continue;
      if (indent === '') top = name;
      listed.push(indent === '' ? name : `${top}/${name}`);
    }
    const real = new Set<string>();
    for (const path of paths) {
      const parts = path.split('/').slice(0, -1);
      for (const depth of [1, 2]) if (parts.length >= depth) real.add(parts.slice(0, depth).join('/'));
    }
    expect(listed.sort()).toEqual([...real].sort());
  });
});

describe('events', () => {
  test('are checked against the schema by every test that asks a command for them', () => {
    const reader = /from '[./]+(?:test\/)?(?:command-line|events|store\/planted)\.js'/;
    const asks = ({ text }: { readonly text: string }) => /'--(json|events)'/.test(text) && /spawn|execFile/.test(text);
    const found = testFiles().filter(asks);
    expect(found.length).toBeGreaterThan(5);
    expect(found.filter(({ text }) => !reader.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe('repository', () => {
  test('package-lock.json holds versions and digests, no download URLs', () => {
    const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
    expect(text).not.toMatch(/"resolved"/);
    expect(text).not.toMatch(/\.tgz"/);
  });

  test('package-lock.json has every optional platform package, so that npm ci works on every platform', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
    const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).filter(
        (name) => !lock.packages[`node_modules/${name}`] && !lock.packages[`${path}/node_modules/${name}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  test('no file holds a path of the machine it was written on', (ctx) => {
    const files = trackedFiles();
    if (!files) return ctx.skip('not a git checkout');
    // Spelled so that this file does not match itself.
    const folders = ['work', 'root', 'home', 'Users'];
    const machinePath = new RegExp(`(?<![\\w.}-])/(?:${folders.join('|')})/[\\w.]`);
    const found = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'latin1');
      if (text.includes('\0')) return [];
      return text
        .split('\n')
        .flatMap((line, at) => (machinePath.test(line) ? `${file}:${at + 1}: ${line.trim()}` : []));
    });
    expect(found).toEqual([]);
  });
});

interface Lock {
  readonly packages: Record<string, { readonly optionalDependencies?: Record<string, string> }>;
}

/** The error in importing `specifier` from the file `path` (relative to src), if any. */
function fault(path: string, specifier: string): string | undefined {
  const from = folderOf(path);
  if (from === undefined) return undefined;
  if (!order.includes(from)) return `${path}: ${from} is not in the list of folders (test/structure.test.ts)`;
  const isRelative = specifier.startsWith('.');
  if (!isRelative) {
    // Tests of kernel may import packages; its code, which runs in browsers, may not.
    const allowed = from !== 'kernel' || isTest(path);
    return allowed ? undefined : `${path}: imports ${specifier}, but kernel imports nothing but itself`;
  }
  const target = posix.join(posix.dirname(path), specifier);
  if (target.startsWith('..')) return isTest(path) ? undefined : `${path}: imports ${specifier}, which is outside src`;
  const to = folderOf(target);
  if (to === undefined) return `${path}: imports ${specifier}, but no folder imports src/index.ts`;
  if (order.indexOf(to) <= order.indexOf(from)) return undefined;
  return `${path}: imports ${specifier}, but ${from} may not import from ${to}`;
}

/** A module's text without imports and exports of types alone. */
function withoutTypes(text: string): string {
  return text
    .replace(/^(?:import|export) type [^;]*;/gm, '')
    .replace(/^(?:import|export) \{(?:\s*type [^,}]*,?)+\s*\} from [^;]*;/gm, '');
}

/** A module's text without dynamic imports and file URLs. */
const withoutLater = (text: string): string => text.replace(/\b(?:import|new URL)\(/g, '(');

/** Groups of files that import each other in a cycle (Tarjan's algorithm). */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const [index, low] = [new Map<string, number>(), new Map<string, number>()];
  const [stack, found]: [string[], string[][]] = [[], []];
  const visit = (at: string): void => {
    index.set(at, index.size);
    let least = index.get(at)!;
    const depth = stack.push(at) - 1;
    for (const next of graph.get(at) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) least = Math.min(least, low.get(next) ?? index.get(next)!);
    }
    low.set(at, least);
    if (least < index.get(at)!) return;
    const group = stack.splice(depth);
    if (group.length > 1) found.push(group.sort());
  };
  for (const file of graph.keys()) if (!index.has(file)) visit(file);
  return found;
}

function folderOf(path: string): string | undefined {
  const at = path.indexOf('/');
  return at < 0 ? undefined : path.slice(0, at);
}

function isTest(path: string): boolean {
  return /\.(test|test-d|bench)\.ts$/.test(path);
}

function specifiers(source: string): string[] {
  const text = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const pattern =
    /(?:^|[;}\s])(?:import|export)\s(?:[^'"`;()=]*?\sfrom\s)?\s*(['"])([^'"\n]+)\1|\bimport\(\s*(['"])([^'"\n]+)\3|\bnew URL\(\s*(['"])([^'"\n]+)\5,\s*import\.meta\.url/g;
  return [...text.matchAll(pattern)].map((match) => (match[2] ?? match[4] ?? match[6])!);
}

const testFiles = () => [...sources(), ...sources('test')].filter(({ path }) => isTest(path));

function sources(name = 'src'): { path: string; text: string }[] {
  const folder = resolve(root, name);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({
      path: relative(folder, resolve(folder, file)).split(sep).join('/'),
      text: readFileSync(resolve(folder, file), 'utf8'),
    }));
}

/** Tracked files, and untracked ones that git does not ignore. */
function trackedFiles(): string[] | undefined {
  try {
    // The owner of a mounted folder may be another user; reading the list is harmless.
    const command = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const names = execFileSync('git', command, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return names.split('\0').filter((name) => name !== '' && existsSync(join(root, name)));
  } catch {
    return undefined;
  }
}
