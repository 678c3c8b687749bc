import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { cleanEnvironment, interrupted, millrace, type Ran } from '../command-line.js';
import { type Told, wordsOf } from './commands.js';
import type { Example, Swaps, Way } from './example.js';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a document's command in a new folder below `home`, and checks its result. */
export async function follow({ command, variables }: Told, way: Way, home: string): Promise<void> {
  const folder = mkdtempSync(join(home, 'at-'));
  await way.given?.(folder);
  const words = swapped(wordsOf(command), { ...way.swap, ...(await way.served?.(folder)) }).map((word) =>
    valued(word, variables),
  );
  const [program = '', ...args] = [...words, ...(way.more ?? [])];
  // No placeholder is left.
  expect(args.filter((word) => /[…$]|^[A-Z]{2,}$/.test(word))).toEqual([]);
  const env = { MILLRACE_DATA_DIR: join(home, 'data') };
  const ran = await (program === 'millrace' ? asked(args, way, folder, env) : typed(program, args, folder, env));
  if (way.status !== 'any') expect(ran, `${command}: ${ran.stderr}`).toMatchObject({ status: way.status ?? 0 });
  way.check(ran, folder);
}

function asked(args: readonly string[], { until }: Way, cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  if (until === undefined) return millrace(args, { cwd, env });
  return interrupted(args, { cwd, env, when: until, act: (pid) => process.kill(pid, 'SIGINT') });
}

/** Runs npm and scripts in the repository, and a `node -e` with `>` in the folder. */
async function typed(program: string, args: readonly string[], folder: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  const [script, to] = args.at(-2) === '>' ? [args.slice(0, -2), args.at(-1)] : [args, undefined];
  const file = program === 'node' ? process.execPath : program;
  const child = spawn(file, script, { cwd: to === undefined ? root : folder, env: { ...cleanEnvironment(), ...env } });
  const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (part: Buffer) => parts[name].push(part));
  const status = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const encoding = to === undefined ? 'utf8' : 'latin1';
  const text = (name: 'stdout' | 'stderr'): string => Buffer.concat(parts[name]).toString(encoding);
  return { status, stdout: text('stdout'), stderr: text('stderr'), events: [] };
}

function swapped(words: readonly string[], swaps: Swaps): string[] {
  for (const old of Object.keys(swaps)) expect(words).toContain(old);
  return words.map((word) => swaps[word] ?? word);
}

/** `$HASH` and `${HASH}more`. */
const valued = (word: string, variables: Readonly<Record<string, string>>): string =>
  word.replace(/\$\{?([A-Z]+)\}?/, (all, name: string) => variables[`$${name}`] ?? all);

/**
 * Returns the names and options of a command that are missing from the code of the test that runs it. Each must be a
 * separate literal there. Values may differ.
 */
export function missingFrom({ by }: Example, command: string): string[] {
  if (!by) return [];
  const source = readFileSync(join(root, by.file), 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '');
  const code = by.code.filter((one) => source.includes(one));
  if (code.length < by.code.length) return by.code.filter((one) => !source.includes(one));
  const [program = '', ...args] = wordsOf(command);
  const own = program === 'millrace' ? args : [program, ...args];
  const first = own.findIndex(isValue);
  const names = first < 0 ? own : own.slice(0, first);
  const options = own.filter((word) => word.startsWith('-'));
  const isThere = (word: string | undefined): boolean => code.some((one) => one.includes(`'${word}'`));
  return [...new Set([...names, ...options])].filter((word) => !isThere(word) && !isThere(SHORT[word]));
}

/** Options for which tests may use the short name. */
const SHORT: Readonly<Record<string, string>> = { '--difficulty': '-d', '--shift': '-f' };

const isValue = (word: string): boolean => !/^[a-z]+$/.test(word);
