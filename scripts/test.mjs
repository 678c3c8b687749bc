// `npm test`: everything a change has to pass, also on a fresh clone. Arguments are vitest's (file filters, -t NAME).
// The type check and the lint count as one test each, so that the last line has the whole result.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureDebianPackages } from './debian.mjs';
import { ensureBuilt, ensureInstalled, orExit, PrepareError, root, showFailure } from './prepare.mjs';
import { COUNTS_FILE } from './reporter.mjs';

const args = process.argv.slice(2);
/** `npm test` runs at least one test per feature and kind of device, `--all` every test, `--long` large case counts. */
const tier = args[0] === '--all' ? 'all' : args[0] === '--long' ? 'long' : 'short';
if (tier !== 'short') args.shift();

orExit(ensureInstalled);
ensureDebianPackages((text) => process.stderr.write(`millrace: ${text}\n`));

/** @type {import('./reporter.mjs').Counts} */
const total = { passed: 0, failed: 0, skipped: 0, reasons: {} };
// A failed build does not end the run: the type check reports the same errors, and the other tests are still useful.
step('build', build);
step('type check', () => types('tsconfig.json') && types('src/web'));
step('lint', () => node('@biomejs/biome/bin/biome', ['check', '--error-on-warnings']));
step('tests', tests);
report();
process.exitCode = total.failed > 0 ? 1 : 0;

/**
 * The compiler, a Go program, takes a third less processor time if it collects no garbage below a limit.
 * @param {string} project
 */
function types(project) {
  const env = { GOGC: 'off', GOMEMLIMIT: '2GiB' };
  return node('typescript/bin/tsc', ['--project', project, '--incremental'], env);
}

/**
 * @param {string} name
 * @param {() => boolean} run
 */
function step(name, run) {
  const start = Date.now();
  const ok = run();
  process.stdout.write(`${name}: ${ok ? 'ok' : 'FAILED'} (${((Date.now() - start) / 1000).toFixed(1)} s)\n`);
  if (name === 'tests') return;
  if (!ok) total.failed += 1;
  else if (name !== 'build') total.passed += 1;
}

function build() {
  try {
    ensureBuilt();
    return true;
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    showFailure(error);
    return false;
  }
}

function tests() {
  const scratch = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const file = join(scratch, 'counts.json');
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'reporter.mjs')}`];
  const env = { [COUNTS_FILE]: file, MILLRACE_TIER: tier };
  const ok = node('vitest/vitest.mjs', ['run', ...reporters, ...args], env);
  try {
    /** @type {import('./reporter.mjs').Counts} */
    const counts = JSON.parse(readFileSync(file, 'utf8'));
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    total.reasons = counts.reasons;
    const ran = counts.passed + counts.failed + counts.skipped;
    if (ran === 0) process.stdout.write('no test ran\n');
    // vitest may fail for a reason outside any test (a coverage limit, its own setup), which must show in the count.
    if ((!ok || ran === 0) && counts.failed === 0) total.failed += 1;
    return ok && ran > 0;
  } catch {
    process.stdout.write('vitest ended without a result\n');
    total.failed += 1;
    return false;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function report() {
  const reasons = Object.entries(total.reasons).sort(([a], [b]) => a.localeCompare(b));
  process.stdout.write('\n');
  for (const [reason, times] of reasons) process.stdout.write(`skipped ${times}: ${reason}\n`);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
}

/**
 * Runs a tool of node_modules by its JavaScript file, on this same Node.
 * @param {string} tool
 * @param {readonly string[]} toolArgs
 * @param {NodeJS.ProcessEnv} [env]
 */
function node(tool, toolArgs, env = {}) {
  const command = [join(root, 'node_modules', tool), ...toolArgs];
  return (
    spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status === 0
  );
}
