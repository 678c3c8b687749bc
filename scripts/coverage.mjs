// `npm run coverage [-- vitest's arguments]`: functions of src that no test reaches, by folder. V8 counts the calls in every
// process and thread of a run, of src as vitest runs it and of dist as commands and worker threads do; a function is known by
// its module, its name, and which of that name it is. Processes that are killed count nothing: a function that runs only in
// them is listed too.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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
  if (status !== 0) process.stdout.write('some tests failed; what they would have reached may be missing\n');
  report(unreached(folder));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {string} from
 * @returns {{ calls: Map<string, Map<string, number>> }} by module, by function
 */
function unreached(from) {
  /** @type {Map<string, Map<string, number>>} */
  const calls = new Map();
  for (const name of readdirSync(from)) {
    for (const { url, functions } of readCounts(join(from, name))) {
      const module = moduleOf(url);
      if (module === undefined) continue;
      const known = calls.get(module) ?? new Map();
      calls.set(module, known);
      /** @type {Map<string, number>} */
      const seen = new Map();
      const inOrder = functions.toSorted((a, b) => (a.ranges[0]?.startOffset ?? 0) - (b.ranges[0]?.startOffset ?? 0));
      for (const { functionName, ranges } of inOrder) {
        if (functionName === '') continue; // as a rule the argument of one that has a name
        const nth = (seen.get(functionName) ?? 0) + 1;
        seen.set(functionName, nth);
        const key = nth === 1 ? functionName : `${functionName} (${nth})`;
        known.set(key, (known.get(key) ?? 0) + (ranges[0]?.count ?? 0));
      }
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
  // vitest names the modules that it runs by their paths.
  if (!plain.startsWith('file:') && !plain.startsWith(root)) return undefined;
  const path = relative(root, plain.startsWith('file:') ? fileURLToPath(plain) : plain).replaceAll('\\', '/');
  const [, name] = /^(?:src|dist)\/(.*)\.(?:js|ts)$/.exec(path) ?? [];
  return name === undefined || name.startsWith('browser/') || name.endsWith('.test') ? undefined : `${name}.ts`;
}

/** @param {{ calls: Map<string, Map<string, number>> }} all */
function report({ calls }) {
  let [total, missing] = [0, 0];
  /** @type {Map<string, string[]>} */
  const folders = new Map();
  for (const [module, functions] of [...calls].sort(([a], [b]) => a.localeCompare(b))) {
    const never = [...functions].filter(([, count]) => count === 0).map(([name]) => name);
    total += functions.size;
    missing += never.length;
    if (never.length === 0) continue;
    const at = dirname(module);
    folders.set(at, [...(folders.get(at) ?? []), `  ${module}: ${never.join(', ')}`]);
  }
  for (const [name, lines] of folders) process.stdout.write(`${name}\n${lines.join('\n')}\n`);
  process.stdout.write(`${total - missing} of ${total} named functions are reached\n`);
}
