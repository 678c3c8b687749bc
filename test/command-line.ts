import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The built command as a process, without what the person at this machine has set. */
export const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export function millrace(args: readonly string[], { cwd, env = {} }: RunOptions = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding: 'utf8',
    env: { ...cleanEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
  return { status, stdout, stderr };
}

/** Starts it, and does something to it when it has said what is waited for. */
export async function interrupted(
  args: readonly string[],
  { cwd, env = {}, when, act }: RunOptions & { readonly when: RegExp; act(pid: number): void },
): Promise<Ran & { readonly signal: NodeJS.Signals | null }> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...cleanEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
  let stdout = '';
  let stderr = '';
  let isDone = false;
  const look = (): void => {
    if (isDone || !when.test(stdout + stderr) || child.pid === undefined) return;
    isDone = true;
    act(child.pid);
  };
  child.stdout.setEncoding('utf8').on('data', (part) => {
    stdout += part;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (part) => {
    stderr += part;
    look();
  });
  return new Promise((resolve) => child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr })));
}

export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MILLRACE_(?!CACHE_DIR)|NO_COLOR|FORCE_COLOR)/.test(name)),
  );
}
