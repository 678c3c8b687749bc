import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** For tests of how processes end: one that is told how, at a random moment, with work in flight. */

export type Want = { readonly code: number } | { readonly signal: NodeJS.Signals };

export interface Run {
  readonly way: string;
  readonly want: Want;
  /** What Node is given. */
  readonly args: readonly string[];
  /** Signals come so many ms after the process said something. */
  readonly delay: number;
  readonly env?: NodeJS.ProcessEnv;
}

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly hung: boolean;
  readonly stderr: string;
}

/** Runs them two at a time. What did not end as it should, or said what it should not. */
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

/** Processes of these runs that are still there; the kernel takes a moment to end children of one that was killed. */
export async function orphans(): Promise<string[]> {
  for (let waited = 0; marked().length > 0 && waited < 600; waited++) await new Promise((go) => setTimeout(go, 50));
  return marked();
}

/** They carry our mark in their environment. */
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
