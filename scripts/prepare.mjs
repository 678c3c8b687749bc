// Prepares a clone: installs dependencies and builds dist. Imports nothing but Node's modules, because it runs before
// node_modules exists. If there is nothing to do, it reads two lock files and hashes src: a few milliseconds.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A tool failed; `output` is what it printed. */
export class PrepareError extends Error {
  /**
   * @param {string} message
   * @param {string} output
   */
  constructor(message, output) {
    super(message);
    this.name = 'PrepareError';
    this.output = output;
  }
}

/** Installs the dependencies unless node_modules already matches package-lock.json. */
export function ensureInstalled() {
  checkNode();
  if (isInstalled()) return;
  withLock(join(root, '.prepare.lock'), say, () => {
    if (isInstalled()) return;
    say('installing dependencies (once, about half a minute)');
    const subcommand = existsSync(join(root, 'package-lock.json')) ? 'ci' : 'install';
    tool('npm', [subcommand, '--no-audit', '--no-fund', '--loglevel=error'], 'installing dependencies failed');
  });
}

/**
 * Compiles src to dist unless dist was built from exactly this source.
 * @param {{ force?: boolean }} [options]
 */
export function ensureBuilt({ force = false } = {}) {
  if (!force && isBuilt()) return;
  withLock(join(root, '.prepare.lock'), say, () => {
    if (!force && isBuilt()) return;
    say('building');
    // Before the compiler reads the files: an edit made meanwhile causes one build too many, never a stale dist.
    const digest = sourceDigest();
    const next = join(root, 'dist.next');
    const old = join(root, 'dist.old');
    rmSync(next, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    tool(process.execPath, [tsc, '--project', 'tsconfig.build.json', '--outDir', next], 'building failed');
    tool(process.execPath, [join(root, 'scripts', 'bundle.mjs'), next], 'bundling failed');
    tool(process.execPath, [join(root, 'scripts', 'bundle-web.mjs'), next], 'bundling the pages failed');
    tool(process.execPath, [join(root, 'scripts', 'bundle-playground.mjs'), next], 'bundling the playground failed');
    tool(process.execPath, [join(root, 'scripts', 'bundle-join.mjs'), next], 'bundling the page of workers failed');
    for (const folder of handWritten) copyTexts(folder, next);
    writeFileSync(join(next, STAMP), digest);
    writeFileSync(join(next, 'build-id'), `${digest.slice(0, 12)}\n`); // shown by `millrace --version`
    recordCommit(next);
    // Replaced as a whole, so that outputs of deleted sources disappear and a failed build leaves the last good one.
    if (existsSync(DIST)) renameSync(DIST, old);
    renameSync(next, DIST);
    rmSync(old, { recursive: true, force: true });
  });
}

/** Folders of src with texts of other languages that `millrace export` writes. */
const handWritten = ['export/runtime', 'export/python/text', 'workload/words/library', 'workload/encode/library'];

/**
 * Copies the C and Python files of a folder of src into the output.
 * @param {string} folder
 * @param {string} output
 */
function copyTexts(folder, output) {
  const filter = (/** @type {string} */ path) => !/\.ts$|__pycache__/.test(path);
  cpSync(join(root, 'src', folder), join(output, folder), { recursive: true, filter });
}

/**
 * Writes the Git commit into the output, for packages, which have no clone. Writes nothing without Git.
 * @param {string} folder
 */
function recordCommit(folder) {
  const git = (/** @type {string[]} */ ...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  const head = existsSync(join(root, '.git')) ? git('rev-parse', '--short=12', 'HEAD') : undefined;
  rmSync(join(folder, 'commit'), { force: true });
  if (head?.status !== 0) return;
  const isClean = git('status', '--porcelain', '--untracked-files=no').stdout === '';
  writeFileSync(join(folder, 'commit'), `${head.stdout.trim()}${isClean ? '' : ' with changes'}\n`);
}

/**
 * Runs a step. If a tool fails, shows its output and ends the process.
 * @param {() => void} step
 */
export function orExit(step) {
  try {
    step();
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    showFailure(error);
    process.exit(70);
  }
}

/** @param {PrepareError} error */
export function showFailure(error) {
  if (error.output !== '') process.stderr.write(`${error.output.trimEnd()}\n`);
  say(error.message);
}

const DIST = join(root, 'dist');
const STAMP = '.source-digest';

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new PrepareError(`Node.js ${process.versions.node} is too old: 20.19 or later is needed`, '');
}

/**
 * Compares the lock file with node_modules/.package-lock.json, which npm writes last, so it lists what is installed. Times
 * are not compared: a checkout or a copy changes only them.
 */
function isInstalled() {
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (!installed) return false;
  const locked = readPackages(join(root, 'package-lock.json'));
  if (!locked) return true;
  // A clone needs the packages that a user may leave out: tests use them, and the build bundles wabt.
  const own = new Set(Object.keys(locked['']?.optionalDependencies ?? {}).map((name) => `node_modules/${name}`));
  for (const [path, { version, optional }] of Object.entries(locked)) {
    if (path === '') continue;
    const found = installed[path];
    // Any other optional package may be absent: it is a binary for another platform.
    if (found ? found.version !== version : !optional || own.has(path)) return false;
  }
  return true;
}

/**
 * @param {string} file
 * @returns {Record<string, { version: string, optional?: boolean, optionalDependencies?: object }> | undefined}
 */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function isBuilt() {
  // An unpacked release has dist and no src.
  if (!existsSync(join(root, 'src'))) return true;
  try {
    return existsSync(join(DIST, 'command')) && readFileSync(join(DIST, STAMP), 'utf8') === sourceDigest();
  } catch {
    return false;
  }
}

/** Hashes everything the build reads: sources without tests, settings, and versions of tools and bundled packages. */
function sourceDigest() {
  const hash = createHash('sha256');
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  const named = ['typescript', 'rolldown', 'wabt', 'preact', '@preact/signals', '@preact/signals-core', 'uplot'];
  const editor = Object.keys(installed ?? {}).filter((path) =>
    /^node_modules\/@(codemirror|lezer|nats-io)\//.test(path),
  );
  for (const path of [...named.map((name) => `node_modules/${name}`), ...editor])
    hash.update(`${path} ${installed?.[path]?.version}\n`);
  const settings = ['tsconfig.json', 'tsconfig.build.json'];
  const scripts = [
    'bundle.mjs',
    'bundle-web.mjs',
    'bundle-playground.mjs',
    'bundle-join.mjs',
    'bundled-licences.mjs',
    'completion-data.mjs',
  ];
  const shown = readdirSync(join(root, 'examples', 'playground')).map((name) => `examples/playground/${name}`);
  const files = [...settings, ...scripts.map((name) => `scripts/${name}`), ...shown].map((name) => join(root, name));
  for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && !/\.(test|test-d|bench)\.ts$/.test(entry.name))
      files.push(join(entry.parentPath, entry.name));
  }
  for (const file of files.sort()) {
    const text = readFileSync(file);
    hash.update(`${relative(root, file).split(sep).join('/')} ${text.length}\n`).update(text);
  }
  return hash.digest('hex');
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} failure
 */
function tool(command, args, failure) {
  // On Windows npm is a .cmd file, which only a shell can start.
  const shell = process.platform === 'win32' && command === 'npm';
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', shell, stdio: ['ignore', 'pipe', 'pipe'] });
  if (done.error) throw new PrepareError(`${failure}: ${done.error.message}`, '');
  if (done.status !== 0) {
    throw new PrepareError(`${failure} (${done.signal ?? `exit ${done.status}`})`, done.stdout + done.stderr);
  }
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`millrace: ${text}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  orExit(() => {
    ensureInstalled();
    ensureBuilt({ force: process.argv.includes('--force') });
    // The commit may have changed since the same sources were built.
    if (existsSync(join(root, 'src'))) recordCommit(DIST);
  });
}
