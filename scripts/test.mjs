// `npm test`: everything a change has to pass, also on a fresh clone. Arguments are vitest's (file filters, -t NAME).
// The type check and the lint count as one test each, so that the last line has the whole result. They run beside the tests,
// with a low priority: tests wait for processes and devices a tenth of their time.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
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
/** What the checks beside the tests have to say: told at the end, where it is seen. @type {string[]} */
const complaints = [];
const hasColours = process.stdout.isTTY === true;
// A failed build does not end the run: the type check reports the same errors, and the other tests are still useful.
await step('build', async () => ({ ok: build(), text: '' }));
const checks = [
  step('type check', async () => {
    const own = await types('tsconfig.json');
    return own.ok ? types('src/web') : own;
  }),
  step('lint', () =>
    quietly('@biomejs/biome/bin/biome', ['check', '--error-on-warnings', `--colors=${hasColours ? 'force' : 'off'}`]),
  ),
];
await step('tests', async () => ({ ok: await tests(), text: '' }));
await Promise.all(checks);
report();
process.exitCode = total.failed > 0 ? 1 : 0;

/** @typedef {{ readonly ok: boolean, readonly text: string }} Result */

/** @param {string} project */
function types(project) {
  return quietly('typescript/bin/tsc', ['--project', project, '--incremental', ...(hasColours ? ['--pretty'] : [])]);
}

/**
 * Runs a step, tells its result at once, and keeps what it printed if it failed.
 * @param {string} name
 * @param {() => Promise<Result>} run
 */
async function step(name, run) {
  const start = Date.now();
  const { ok, text } = await run();
  process.stdout.write(`${name}: ${ok ? 'ok' : 'FAILED'} (${((Date.now() - start) / 1000).toFixed(1)} s)\n`);
  if (!ok && text !== '') complaints.push(`${name}:\n${text}`);
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

async function tests() {
  const scratch = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  const file = join(scratch, 'counts.json');
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'reporter.mjs')}`];
  const env = { [COUNTS_FILE]: file, MILLRACE_TIER: tier };
  const ok = await node('vitest/vitest.mjs', ['run', ...reporters, ...args], env);
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
  for (const text of complaints) process.stdout.write(`${text}\n`);
  for (const [reason, times] of reasons) process.stdout.write(`skipped ${times}: ${reason}\n`);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
}

/**
 * Starts a tool of node_modules by its JavaScript file, on this same Node.
 * @param {string} tool
 * @param {readonly string[]} toolArgs
 * @param {import('node:child_process').SpawnOptions} options
 */
function start(tool, toolArgs, options) {
  return spawn(process.execPath, [join(root, 'node_modules', tool), ...toolArgs], { cwd: root, ...options });
}

/**
 * Runs a tool whose output is shown as it comes.
 * @param {string} tool
 * @param {readonly string[]} toolArgs
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<boolean>}
 */
function node(tool, toolArgs, env) {
  const child = start(tool, toolArgs, { stdio: 'inherit', env: { ...process.env, ...env } });
  return new Promise((resolve) => child.on('close', (status) => resolve(status === 0)));
}

/**
 * Runs a tool with a low priority, and returns what it printed.
 * @param {string} tool
 * @param {readonly string[]} toolArgs
 * @returns {Promise<Result>}
 */
function quietly(tool, toolArgs) {
  const child = start(tool, toolArgs, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (part) => (text += part));
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  return new Promise((resolve) => child.on('close', (status) => resolve({ ok: status === 0, text })));
}
