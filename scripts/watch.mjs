// `npm run watch FILE…`: reruns the tests that depend on a file of src or test whenever it is saved. vitest runs src itself;
// worker threads and commands run dist, so a changed file of src is written there too, with its types stripped, which takes
// a few milliseconds. Types are not checked and nothing is bundled: `npm test` does both.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformSync } from '@swc/wasm-typescript';
import { ensureBuilt, ensureInstalled, orExit, root } from './prepare.mjs';

orExit(() => {
  ensureInstalled();
  ensureBuilt();
  // Commands and threads then run the modules that change.
  for (const joined of ['command', 'threads']) rmSync(join(root, 'dist', joined), { recursive: true, force: true });
});

const isSource = (/** @type {string} */ name) => name.endsWith('.ts') && !/\.(test|test-d|bench|d)\.ts$/.test(name);

watch(join(root, 'src'), { recursive: true }, (_, name) => {
  if (name === null || !isSource(name)) return;
  const begun = performance.now();
  try {
    rebuild(name);
    say(`dist/${name.replace(/\.ts$/, '.js')} in ${(performance.now() - begun).toFixed(0)} ms`);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return; // between two writes of an editor
    say(`${name}: ${/** @type {Error} */ (error).message ?? error}`);
  }
});

/** @param {string} name of a file, within src */
export function rebuild(name) {
  const text = readFileSync(join(root, 'src', name), 'utf8');
  const { code } = transformSync(text, { mode: 'strip-only', module: true, filename: name });
  const out = join(root, 'dist', name.replace(/\.ts$/, '.js'));
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, code);
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`millrace: ${text}\n`);
}

const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const args = process.argv.slice(2);
// This program builds, so the setup does not. Tests import src, so that vitest knows what depends on a change.
const child = spawn(process.execPath, [vitest, 'watch', '--typecheck.enabled=false', ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, MILLRACE_KEEP_DIST: '1', MILLRACE_FROM_SOURCE: '1' },
});
child.on('close', (status) => process.exit(status ?? 1));
