import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** For tests of how processes end: each ends in a given way, at a random moment, with work in flight. */

export type Want = { readonly code: number } | { readonly signal: NodeJS.Signals };

export interface Run {
  readonly way: string;
  readonly want: Want;
  /** Arguments for Node. */
  readonly args: readonly string[];
  /** Milliseconds from the first output to the signal. */
  readonly delay: number;
  readonly env?: NodeJS.ProcessEnv;
}

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly hung: boolean;
  readonly stderr: string;
}

/** Runs them two at a time. Returns those with a wrong exit or unexpected output. */
export async function wrongEndings(
  runs: readonly Run[],
  limitMs: number,
  fault: (run: Run) => unknown = () => undefined,
): Promise<unknown[]> {
  const left = [...runs];
  const wrong: unknown[] = [];
  const next = async (): Promise<void> => {
    for (let run = left.pop(); run; run = left.pop()) {
      const { way, want, delay } = run;
      const ending = await end(run, limitMs);
      const right = 'code' in want ? ending.code === want.code : ending.signal === want.signal;
      const quiet = way.includes('throw') ? ending.stderr.includes('thrown on purpose') : ending.stderr === '';
      const more = fault(run);
      if (!right || ending.hung || !quiet || more !== undefined) wrong.push({ way, delay, ...ending, more });
    }
  };
  await Promise.all([next(), next()]);
  return wrong;
}

function end({ args, want, delay, env = {} }: Run, limitMs: number): Promise<Ending> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...args], {
      env: { ...process.env, ...env, MILLRACE_TEARDOWN: tag },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    let hung = false;
    const limit = setTimeout(() => {
      hung = true;
      child.kill('SIGKILL');
    }, limitMs);
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    child.stdout.once('data', () => {
      if ('signal' in want) setTimeout(() => child.kill(want.signal), delay);
    });
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, hung, stderr });
    });
  });
}

const tag = `run-${process.pid}-${Date.now()}`;

/** Processes of these runs that still exist; the kernel takes a moment to end children of a killed one. */
export async function orphans(): Promise<string[]> {
  for (let waited = 0; marked().length > 0 && waited < 600; waited++) await new Promise((go) => setTimeout(go, 50));
  return marked();
}

/** Processes with our tag in their environment. */
function marked(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/environ`, 'latin1').includes(tag);
    } catch {
      return false; // gone, or not ours to see
    }
  });
}
