import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Event, eventsOf, faultOf } from './events.js';

/**
 * The built command as a process, without what the person at this machine has set. Whatever it tells with `--json` is
 * held against the schema here, so that no test can forget to.
 */
export const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** With `--json`: what was told between `start` and the end, `done` included. */
  readonly events: readonly Event[];
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Of what it writes; default UTF-8. */
  readonly encoding?: 'utf8' | 'latin1';
}

export function millrace(args: readonly string[], { cwd, env = {}, encoding = 'utf8' }: RunOptions = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding,
    env: { ...cleanEnvironment(), ...env },
    maxBuffer: 2 ** 28,
    ...(cwd !== undefined && { cwd }),
  });
  return { status, stdout, stderr, events: toldOf(args, { stdout, stderr }) };
}

/** A command under way. */
export interface Started {
  readonly child: ChildProcess;
  /** Rejects where an event is not as the schema says. */
  readonly ended: Promise<Ended>;
  /** The first event that is such a one; rejects when the command ends without. */
  until(what: (event: Event) => boolean): Promise<Event>;
}

export interface Ended extends Omit<Ran, 'events'> {
  readonly signal: NodeJS.Signals | null;
  /** All of them, `start` included. */
  readonly events: readonly Event[];
}

export interface StartOptions extends RunOptions {
  readonly uid?: number;
  /** Told of what is written as it comes, on either stream. */
  readonly heard?: (text: string, child: ChildProcess) => void;
}

export function start(args: readonly string[], { cwd, env = {}, uid, heard }: StartOptions = {}): Started {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const text = { stdout: '', stderr: '' };
  const events: Event[] = [];
  const faults: string[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  const read = (part: string): void => {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    const told = lines.map((line) => JSON.parse(line) as Event);
    faults.push(...told.flatMap((event) => faultOf(event) ?? []));
    events.push(...told);
    for (const look of waiting) look();
  };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (part: string) => {
      text[name] += part;
      if (name === streamOf(args)) read(part);
      heard?.(part, child);
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => {
      if (faults.length > 0) reject(new Error(`not as the schema says:\n${faults.join('\n')}`));
      resolve({ status, signal, ...text, events });
    });
  });
  const until = (what: (event: Event) => boolean): Promise<Event> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = events.find(what);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
      const late = (): void => reject(new Error(`it ended without: ${JSON.stringify(events.slice(-5))}${text.stderr}`));
      ended.then(late, reject);
    });
  return { child, ended, until };
}

/** Starts it, and does something to it when it has said what is waited for. */
export function interrupted(
  args: readonly string[],
  { when, act, ...options }: RunOptions & { readonly when: RegExp; act(pid: number): void },
): Promise<Ended> {
  let said = '';
  let isDone = false;
  const heard = (part: string, { pid }: ChildProcess): void => {
    said += part;
    if (isDone || !when.test(said) || pid === undefined) return;
    isDone = true;
    act(pid);
  };
  return start(args, { ...options, heard }).ended;
}

/** Where events go; undefined where nobody has asked for them. Words have stdout for themselves. */
const streamOf = (args: readonly string[]): 'stdout' | 'stderr' | undefined =>
  args.includes('--json') ? (args[0] === 'words' ? 'stderr' : 'stdout') : undefined;

function toldOf(args: readonly string[], text: { readonly stdout: string; readonly stderr: string }): Event[] {
  const stream = streamOf(args);
  return stream === undefined ? [] : eventsOf(text[stream]);
}

export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MILLRACE_(?!CACHE_DIR)|NO_COLOR|FORCE_COLOR)/.test(name)),
  );
}
