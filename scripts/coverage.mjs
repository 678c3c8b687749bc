// `npm run coverage [-- vitest's arguments]`: lists functions of src that no test reaches, by folder. V8 counts the calls in
// every process and thread of a run: of src, which vitest runs, and of dist, which commands and worker threads run. A
// function is identified by its module, its name, and its number among functions of that name. V8 does not list functions
// within one that was never called, so they are numbered when the counts of all processes are known. A killed process has
// no counts, so a function that runs only in one is listed too. Functions with a reason in coverage-reasons.txt are counted but
// not listed; a reason that no longer applies is listed.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt, ensureInstalled, orExit, root } from './prepare.mjs';

orExit(() => {
  ensureInstalled();
  ensureBuilt();
});
const folder = mkdtempSync(join(tmpdir(), 'millrace-coverage-'));
try {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_V8_COVERAGE: folder },
  });
  if (status !== 0) process.stdout.write('some tests failed: functions that only they reach are listed too\n');
  report(unreached(folder));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {string} from
 * @returns {{ calls: Map<string, Map<string, number>> }} by module, by function
 */
function unreached(from) {
  /** @typedef {{ name: string, start: number, count: number }} Counted */
  /** @type {Map<string, Map<string, Counted>>} by file, by place */
  const files = new Map();
  for (const name of readdirSync(from)) {
    for (const { url, functions } of readCounts(join(from, name))) {
      if (moduleOf(url) === undefined) continue;
      const file = url.replace(/\?.*$/, '');
      const known = files.get(file) ?? new Map();
      files.set(file, known);
      for (const { functionName, ranges } of functions) {
        if (functionName === '') continue; // usually an argument of a named one
        const { startOffset: start = 0, count = 0 } = ranges[0] ?? {};
        const place = `${start} ${functionName}`;
        known.set(place, { name: functionName, start, count: (known.get(place)?.count ?? 0) + count });
      }
    }
  }
  /** @type {Map<string, Map<string, number>>} */
  const calls = new Map();
  for (const [file, functions] of files) {
    const module = moduleOf(file) ?? '';
    const known = calls.get(module) ?? new Map();
    calls.set(module, known);
    /** @type {Map<string, number>} */
    const seen = new Map();
    for (const { name, count } of [...functions.values()].sort((a, b) => a.start - b.start)) {
      const nth = (seen.get(name) ?? 0) + 1;
      seen.set(name, nth);
      const key = nth === 1 ? name : `${name} (${nth})`;
      known.set(key, (known.get(key) ?? 0) + count);
    }
  }
  return { calls };
}

/**
 * @param {string} file
 * @returns {{ url: string, functions: { functionName: string, ranges: { startOffset: number, count: number }[] }[] }[]}
 */
function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).result;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return []; // its process was killed while it wrote
  }
}

/**
 * @param {string} url
 * @returns {string | undefined} `engine/run/run.ts`, of src or dist
 */
function moduleOf(url) {
  const plain = url.replace(/\?.*$/, '');
  // vitest identifies the modules that it runs by path.
  if (!plain.startsWith('file:') && !plain.startsWith(root)) return undefined;
  const path = relative(root, plain.startsWith('file:') ? fileURLToPath(plain) : plain).replaceAll('\\', '/');
  const [, name] = /^(?:src|dist)\/(.*)\.(?:js|ts)$/.exec(path) ?? [];
  return name === undefined || name.startsWith('browser/') || name.endsWith('.test') ? undefined : `${name}.ts`;
}

/**
 * @typedef {{ line: string, module: string, names: string[], isElsewhere: boolean }} Reason
 * @returns {Reason[]} the lines of coverage-reasons.txt
 */
function readReasons() {
  const lines = readFileSync(join(root, 'scripts', 'coverage-reasons.txt'), 'utf8').split('\n');
  return lines.flatMap((line) => {
    if (line === '' || line.startsWith('#')) return [];
    const [, elsewhere, module, names] = /^(\? )?(\S+): (.+?) — ./.exec(line) ?? [];
    if (module === undefined || names === undefined)
      throw new Error(`coverage-reasons.txt: not MODULE: NAMES — REASON: ${line}`);
    return [{ line, module, names: names.split(', '), isElsewhere: elsewhere !== undefined }];
  });
}

/**
 * @param {Reason} reason
 * @param {string} module
 * @param {string} name
 */
function covers(reason, module, name) {
  return reason.module === module && (reason.names.includes('*') || reason.names.includes(name));
}

/** @param {{ calls: Map<string, Map<string, number>> }} all */
function report({ calls }) {
  const reasons = readReasons();
  let [total, missing, excused] = [0, 0, 0];
  /** @type {Map<string, string[]>} */
  const folders = new Map();
  for (const [module, functions] of [...calls].sort(([a], [b]) => a.localeCompare(b))) {
    const never = [...functions].filter(([, count]) => count === 0).map(([name]) => name);
    const open = never.filter((name) => !reasons.some((reason) => covers(reason, module, name)));
    total += functions.size;
    missing += never.length;
    excused += never.length - open.length;
    if (open.length === 0) continue;
    const at = dirname(module);
    folders.set(at, [...(folders.get(at) ?? []), `  ${module}: ${open.join(', ')}`]);
  }
  for (const [name, lines] of folders) process.stdout.write(`${name}\n${lines.join('\n')}\n`);
  for (const reason of reasons) for (const fault of faultsOf(reason, calls)) process.stdout.write(`${fault}\n`);
  process.stdout.write(`${total - missing} of ${total} named functions are reached, ${excused} have a reason\n`);
}

/**
 * @param {Reason} reason
 * @param {Map<string, Map<string, number>>} calls
 * @returns {string[]} names that are gone from the source, or that a test reaches
 */
function faultsOf({ module, names, isElsewhere }, calls) {
  const file = join(root, 'src', module);
  if (!existsSync(file)) return [`reason without a module: ${module}`];
  const text = readFileSync(file, 'utf8');
  const counts = calls.get(module) ?? new Map();
  return names.flatMap((name) => {
    if (name === '*') return [];
    const [identifier = ''] = /[\w#$-]+$/.exec(name.replace(/ \(\d+\)$/, '')) ?? [];
    if (!text.includes(identifier)) return [`reason without a function: ${module}: ${name}`];
    return !isElsewhere && (counts.get(name) ?? 0) > 0
      ? [`reason for a function that is reached: ${module}: ${name}`]
      : [];
  });
}
