import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import { jsonLine, type Output } from '../output/output.js';

/**
 * The program of `--on-hit`, started for each hit with the hit in its environment, at most `max` at a time. No shell is
 * involved, so nothing in a hit can be executed as a command. The program's output goes to stderr.
 */
export class HitProgram {
  readonly #program: string;
  readonly #output: Output;
  readonly #max: number;
  readonly #running = new Set<Promise<void>>();

  /** Throws `usage` if the program cannot be started: an early error is better than one at the first hit. */
  constructor(given: string, output: Output, max = 1, environment: NodeJS.ProcessEnv = process.env) {
    this.#program = findProgram(given, environment);
    this.#output = output;
    this.#max = max;
  }

  /**
   * Resolves when the program has been started, which waits while `max` of them run. `environment` is called at that
   * time, and `onDone` when the program has exited with status 0. Programs start in the order of the calls.
   */
  async run(environment: () => Readonly<Record<string, string>>, onDone: () => void): Promise<void> {
    while (this.#running.size >= this.#max) await Promise.race(this.#running);
    const running = this.#runOne(environment(), onDone).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all programs have ended. */
  async end(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running);
  }

  async #runOne(environment: Readonly<Record<string, string>>, onDone: () => void): Promise<void> {
    const fault = await this.#start(environment);
    if (fault === undefined) onDone();
    else this.#output.warn(`${this.#program} failed for the hit at ${environment.MILLRACE_HIT_INDEX}: ${fault}`);
  }

  #start(environment: Readonly<Record<string, string>>): Promise<string | undefined> {
    return new Promise((done) => {
      const child = spawn(this.#program, [], {
        env: { ...process.env, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        shell: false,
      });
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          for (const line of text.trimEnd().split('\n')) this.#output.say(line);
        });
      }
      child.once('error', (error) => done(error.message));
      child.once('close', (code, signal) => done(code === 0 ? undefined : (signal ?? `exit status ${code}`)));
    });
  }
}

/**
 * Returns a hit as variables: MILLRACE_HIT_INDEX, MILLRACE_HIT_<FIELD> for each value (lists separated by commas), and
 * the whole hit as JSON in MILLRACE_HIT.
 */
export function hitVariables(hit: { readonly index: bigint }, nth: number, job: string): Record<string, string> {
  const { index, ...fields } = hit;
  const named = Object.entries(fields).map(([name, value]) => [
    `MILLRACE_HIT_${name.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase()}`,
    Array.isArray(value) || ArrayBuffer.isView(value)
      ? Array.from(value as ArrayLike<unknown>).join(',')
      : String(value),
  ]);
  return {
    ...Object.fromEntries(named),
    MILLRACE_JOB: job,
    MILLRACE_HIT: jsonLine({ index, ...fields }),
    MILLRACE_HIT_INDEX: String(index),
    MILLRACE_HIT_NTH: String(nth),
  };
}

function findProgram(given: string, { PATH = '' }: NodeJS.ProcessEnv): string {
  const places = given.includes('/') ? [resolve(given)] : PATH.split(delimiter).map((folder) => join(folder, given));
  const found = places.find(isProgram);
  if (found !== undefined && given !== '') return found;
  throw new MillraceError({
    code: 'usage',
    message: `${given} is not an executable program`,
    asked: `--on-hit ${given}`,
    advice: 'name one program, without arguments: a script that reads MILLRACE_HIT_INDEX from its environment',
  });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
