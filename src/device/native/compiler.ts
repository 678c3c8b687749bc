import { execFile } from 'node:child_process';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** The system's C compiler. */
export interface Compiler {
  readonly path: string;
  /** Arguments that the environment put after its name, as in `CC="ccache gcc"`. */
  readonly arguments: readonly string[];
  /** The first line of `--version`. */
  readonly version: string;
  /** Changes when another compiler takes its place: all of `--version`, and the file's identity. */
  readonly identity: string;
  /** The flags that enable all features of this processor. */
  readonly machineFlags: readonly string[];
}

const compilers = new Map<string, Promise<Compiler | { readonly reason: string }>>();

/**
 * Finds `$MILLRACE_CC`, else `$CC`, `cc`, `gcc`, `clang`: the first that runs. Searched once per process and
 * environment.
 */
export function findCompiler(
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Compiler | { readonly reason: string }> {
  const { MILLRACE_CC: ours = '', CC: general = '', PATH: path = '' } = environment;
  const key = [ours, general, path].join('\n');
  let answer = compilers.get(key);
  if (answer === undefined) {
    answer = searchCompiler(ours, general, path);
    compilers.set(key, answer);
  }
  return answer;
}

async function searchCompiler(
  ours: string,
  general: string,
  path: string,
): Promise<Compiler | { readonly reason: string }> {
  const names = ours !== '' ? [ours] : [general, 'cc', 'gcc', 'clang'].filter((name) => name !== '');
  const faults: string[] = [];
  for (const name of names) {
    const [command = '', ...words] = name.split(/\s+/);
    const file = await locate(command, path);
    if (file === undefined) {
      faults.push(`${command} not found`);
      continue;
    }
    const [version, machineFlags] = await Promise.all([
      runProgram(file, [...words, '--version']),
      machineFlagsOf(file, words),
    ]);
    if (version.ok) {
      const identity = `${version.text}\n${await fileIdentity(file)}`;
      return { path: file, arguments: words, version: version.text.split('\n')[0] ?? '', identity, machineFlags };
    }
    faults.push(`${file} does not run (${version.text.trim().split('\n')[0]})`);
  }
  const where = ours !== '' ? 'the compiler in MILLRACE_CC cannot be used' : 'no C compiler';
  return { reason: `${where}: ${faults.join(', ')}; install gcc or clang, or name one in MILLRACE_CC` };
}

/** An updated package may keep its version and its path. */
async function fileIdentity(file: string): Promise<string> {
  const path = await realpath(file);
  const { size, mtimeMs } = await stat(path);
  return [path, size, mtimeMs].join(' ');
}

/** Older ARM compilers know only `-mcpu=native`; some know neither. */
async function machineFlagsOf(file: string, words: readonly string[]): Promise<readonly string[]> {
  for (const flag of ['-march=native', '-mcpu=native']) {
    if ((await runProgram(file, [...words, flag, '-E', '-x', 'c', '/dev/null'])).ok) return [flag];
  }
  return [];
}

async function locate(command: string, path: string): Promise<string | undefined> {
  const candidates =
    isAbsolute(command) || command.includes('/')
      ? [command]
      : path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, command));
  for (const file of candidates) {
    const usable = await access(file, constants.X_OK)
      .then(() => stat(file))
      .then((state) => state.isFile())
      .catch(() => false);
    if (usable) return file;
  }
  return undefined;
}

/** Runs a program to its end; `text` is its output, or its stderr if it failed. */
export function runProgram(
  file: string,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly ok: boolean; readonly text: string }> {
  return new Promise((resolve) => {
    const child = execFile(file, words, { maxBuffer: 2 ** 24, env: environment }, (error, stdout, stderr) => {
      children.delete(child);
      resolve(error ? { ok: false, text: stderr || error.message } : { ok: true, text: stdout });
    });
    children.add(child);
  });
}

/** Running compilers, killed when the process exits. */
const children = new Set<{ kill(): boolean }>();
process.on('exit', () => {
  for (const child of children) child.kill();
});
