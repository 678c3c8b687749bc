import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Candidate } from '../../bench/measure.js';
import { MillraceError } from '../../kernel/error.js';

/** Words through a pipe into `wc -c`, as whole commands: what a user waits for, start included. */
export function pipeRate(name: string, command: readonly string[], bytes: number, runs: number): Candidate {
  const run = async () => {
    const counted = await piped(command, bytes);
    return { work: counted, digest: String(counted) };
  };
  return { name, unit: 'B', runs, run };
}

/** Is a program there? */
export async function isThere(program: string): Promise<boolean> {
  const child = spawn(program, ['--help'], { stdio: 'ignore' });
  return once(child, 'close').then(
    () => true,
    () => false,
  );
}

/** `command | head -c bytes | wc -c`, or without `head` where the command ends by itself. */
async function piped([program = '', ...args]: readonly string[], bytes: number): Promise<number> {
  const maker = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const counter = spawn('wc', ['-c'], { stdio: [maker.stdout, 'pipe', 'ignore'] });
  // This process must not hold the pipe, or its end would never be seen.
  maker.stdout?.destroy();
  let text = '';
  counter.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await Promise.all([ended(counter), ended(maker)]);
  const counted = Number(text.trim());
  if (counted === bytes) return counted;
  throw new MillraceError({
    code: 'device-failed',
    message: `${program} wrote ${counted} bytes instead of ${bytes}`,
    asked: `${[program, ...args].join(' ')} | wc -c`,
    advice: 'a figure for wrong results is worth nothing',
  });
}

const ended = (child: ChildProcess): Promise<unknown> =>
  child.exitCode !== null ? Promise.resolve() : once(child, 'close');
