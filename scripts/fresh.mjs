// Tests the first use of a clone: this checkout's files in a new folder, an empty environment, a new home, empty caches, and
// a Node of any version (package `node` of the registry; default: this Node). Prints the time of each step.
//   node scripts/fresh.mjs                                     npm start
//   node scripts/fresh.mjs --node latest --tests cli,package   npm start, then npm test for those files
//   node scripts/fresh.mjs --committed --tests all             only committed files, all tests

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    node: { type: 'string' },
    tests: { type: 'string' },
    committed: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const scratch = mkdtempSync(join(tmpdir(), 'millrace-fresh-'));
const clone = join(scratch, 'clone');
const home = join(scratch, 'home');
const bin = join(scratch, 'bin');
for (const folder of [clone, home, bin]) mkdirSync(folder);
chmodSync(scratch, 0o755); // tests also run this Node as another user

try {
  step('the files', copyFiles);
  const node = step('Node', () => nodeOf(values.node));
  const npm = step('npm', () => npmFor(node));
  // No settings, credentials or caches of the user. Only the registry is kept, and the system's certificates, which a Node
  // from the registry does not use by default.
  const registry = output('npm', ['config', 'get', 'registry'], root).trim();
  const path = [bin, '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter);
  const trusted = process.env.NODE_EXTRA_CA_CERTS ?? '/etc/ssl/certs/ca-certificates.crt';
  const env = {
    PATH: path,
    HOME: home,
    npm_config_registry: registry,
    ...(existsSync(trusted) && { NODE_EXTRA_CA_CERTS: trusted }),
  };
  say(`Node ${output(node, ['--version'], clone).trim()}, npm ${output(node, [npm, '--version'], clone, env).trim()}`);
  step('npm start', () => expectOutput(node, [npm, 'start'], env, /nonce 2,083,236,893/));
  step('npm start, again', () => expectOutput(node, [npm, 'start'], env, /nonce 2,083,236,893/));
  const { tests } = values;
  if (tests !== undefined) {
    const filters = tests === 'all' ? [] : ['--', ...tests.split(',')];
    step(`npm test ${tests}`, () => expectOutput(node, [npm, 'test', ...filters], env, /passed, 0 failed/));
  }
  say('everything works');
} finally {
  if (values.keep) say(`kept: ${scratch}`);
  else rmSync(scratch, { recursive: true, force: true });
}

/** Copies the files that git tracks or does not ignore, as they are now; with `--committed`, as committed. */
function copyFiles() {
  if (values.committed) {
    output('git', ['clone', '--quiet', '--no-hardlinks', root, clone], root);
    return;
  }
  const listed = output('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], root);
  for (const file of listed.split('\0')) {
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(clone, file));
  }
}

/**
 * Returns a link called `node`, first in the path, to a Node of the given version.
 * @param {string | undefined} version
 */
function nodeOf(version) {
  let file = process.execPath;
  if (version !== undefined) {
    output('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', scratch, `node@${version}`], scratch);
    file = join(scratch, 'node_modules', 'node', 'bin', 'node');
  }
  symlinkSync(file, join(bin, 'node'));
  return join(bin, 'node');
}

/**
 * Returns the npm of this machine, to be run by that Node.
 * @param {string} node
 */
function npmFor(node) {
  const npm = output('npm', ['root', '--global'], root).trim();
  const file = join(npm, 'npm', 'bin', 'npm-cli.js');
  if (!existsSync(file)) throw new Error(`npm is not at ${file}, for ${node}`);
  symlinkSync(file, join(bin, 'npm'));
  return file;
}

/**
 * @template T
 * @param {string} name
 * @param {() => T} run
 */
function step(name, run) {
  const begun = performance.now();
  const result = run();
  say(`${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  return result;
}

/**
 * Runs a command in the clone. Throws, with its output shown, unless it succeeds and prints `expected`.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {RegExp} expected
 */
function expectOutput(command, args, env, expected) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: clone,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status === 0 && expected.test(stdout)) return;
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  throw new Error(`${args.slice(1).join(' ')} ended with ${status}`);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} [env]
 */
function output(command, args, cwd, env = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`fresh: ${text}\n`);
}
