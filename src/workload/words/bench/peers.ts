import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Candidate } from '../../../bench/measure.js';
import { firstLine, MillraceError } from '../../../kernel/error.js';
import { parseMask, widthOf } from '../space/mask.js';
import { wordsOf } from '../space/words.js';

export interface PipeOptions {
  readonly device: string;
  readonly runs: number;
  /** Default: all cores. */
  readonly threads?: number;
  /** Also runs the peers that take ten times as long. */
  readonly isFull?: boolean;
}

/**
 * Writes all words of a mask through a pipe, so that every program ends by itself: Millrace with one thread and with all,
 * then the installed peers. Choose a mask of about 1 GB.
 */
export async function pipeCandidates(mask: string, { device, runs, threads, isFull = false }: PipeOptions) {
  const parsed = parseMask(mask);
  const words = Number(wordsOf(parsed).size);
  const bytes = words * (widthOf(parsed) ?? 0) + words;
  const main = join(dirname(createRequire(import.meta.url).resolve('millrace/package.json')), 'dist/cli/main.js');
  const own = (...more: string[]) => [process.execPath, main, 'words', mask, '--device', device, ...more];
  const candidates: Candidate[] = [
    pipeRate(`millrace words ${mask} --threads 1 | wc -c`, own('--threads', '1'), bytes, runs),
    pipeRate(`millrace words ${mask} | wc -c`, own(...(threads ? ['--threads', String(threads)] : [])), bytes, runs),
  ];
  const absent: string[] = [];
  for (const [program, ...args] of peerCommands(mask, isFull)) {
    if (await isInstalled(program)) {
      candidates.push(pipeRate(`${[program, ...args].join(' ')} | wc -c`, [program, ...args], bytes, runs));
    } else absent.push(program);
  }
  return { candidates, absent, wordBytes: bytes / words };
}

/** Command lines of the peers for a mask. crunch and hashcat have their own syntax for letters and digits. */
const peerCommands = (mask: string, isFull: boolean): [program: string, ...args: string[]][] => {
  const length = String(mask.replaceAll(/\?./g, '.').length);
  const crunch: [string, ...string[]] = [
    'crunch',
    length,
    length,
    '-t',
    mask.replaceAll('?l', '@').replaceAll('?d', '%'),
  ];
  const hashcat: [string, ...string[]] = ['hashcat', '--stdout', '-a', '3', mask];
  return [['mp64', mask], ...(isFull ? [hashcat, crunch] : [])];
};

/** Times whole commands that write words through a pipe into `wc -c`, including their start. */
function pipeRate(name: string, command: readonly string[], bytes: number, runs: number): Candidate {
  const run = async () => {
    const counted = await countPipedBytes(command, bytes);
    return { work: counted, digest: String(counted) };
  };
  return { name, unit: 'B', runs, run };
}

/** True if a program is installed. */
async function isInstalled(program: string): Promise<boolean> {
  const child = spawn(program, ['--help'], { stdio: 'ignore' });
  return once(child, 'close').then(
    () => true,
    () => false,
  );
}

/** Runs `command | wc -c` and checks the number of bytes. */
async function countPipedBytes([program = '', ...args]: readonly string[], bytes: number): Promise<number> {
  const maker = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  maker.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(0, 2000);
  });
  const counter = spawn('wc', ['-c'], { stdio: [maker.stdout, 'pipe', 'ignore'] });
  // The reader sees the end of the pipe only if this process does not hold it open.
  maker.stdout?.destroy();
  let text = '';
  counter.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await Promise.all([exited(counter), exited(maker)]);
  const counted = Number(text.trim());
  if (counted === bytes) return counted;
  throw new MillraceError({
    code: 'device-failed',
    message: `${program} wrote ${counted} bytes instead of ${bytes}${said === '' ? '' : `: ${firstLine(said.trim())}`}`,
    asked: `${[program, ...args].join(' ')} | wc -c`,
    advice: 'a figure for wrong results is worth nothing',
  });
}

const exited = (child: ChildProcess): Promise<unknown> =>
  child.exitCode !== null ? Promise.resolve() : once(child, 'close');
