import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { getPriority } from 'node:os';
import { PassThrough, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Host } from '../src/console/command/host.js';
import { type Event, eventsOf, faultOf } from './events.js';

/** The built command. Every event of `--json` is checked against the schema here. */
export const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** With `--json`: the events after `start`, `done` included. */
  readonly events: readonly Event[];
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Of the output; default UTF-8. */
  readonly encoding?: 'utf8' | 'latin1';
}

export interface HereOptions extends RunOptions {
  /** Called with each piece of output from either stream. */
  readonly heard?: (text: string) => void;
}

/**
 * Runs a command in this process, with its own streams, environment and folder. Commands run one at a time.
 * `millraceProcess` and `start` are for tests of signals, pipes, terminals and exits.
 */
export function millrace(args: readonly string[], options: HereOptions = {}): Promise<Ran> {
  const turn = last.then(() => runHere(args, options));
  last = turn.then(
    () => undefined,
    () => undefined,
  );
  return turn;
}

let last: Promise<void> = Promise.resolve();

/** The same, and sends this process each signal in turn when the output matches its pattern. */
export function signalled(
  args: readonly string[],
  steps: readonly (readonly [when: RegExp, signal: NodeJS.Signals])[],
  options: RunOptions = {},
): Promise<Ran> {
  const left = [...steps];
  let said = '';
  const heard = (text: string): void => {
    said += text;
    const [when, signal] = left[0] ?? [];
    if (signal === undefined || !when?.test(said)) return;
    left.shift();
    process.kill(process.pid, signal);
  };
  return millrace(args, { ...options, heard });
}

async function runHere(args: readonly string[], options: HereOptions): Promise<Ran> {
  const { cwd, env = {}, encoding = 'utf8', heard } = options;
  const url = new URL('../dist/cli/run-command.js', import.meta.url).href;
  const { runCommand } = (await import(url)) as typeof import('../src/cli/run-command.js');
  const stdout = new Written(heard);
  const stderr = new Written(heard);
  const restore = surround({ ...cleanEnvironment(), ...env }, cwd);
  const priority = getPriority();
  const host: Host = {
    args,
    stdin: new PassThrough().end() as unknown as Host['stdin'],
    stdout,
    stderr,
    exitCode: 0,
    exit: (status) => {
      throw new Error(`millrace ${args.join(' ')} ended its process with status ${status}: use millraceProcess`);
    },
  };
  try {
    await runCommand(host);
  } finally {
    restore();
  }
  // It cannot be raised again: other files in this process would run slowly on a busy machine.
  if (getPriority() !== priority) {
    throw new Error(`millrace ${args.join(' ')} lowered the priority of its process: use millraceProcess`);
  }
  const text = { stdout: stdout.text(encoding), stderr: stderr.text(encoding) };
  return { status: Number(host.exitCode), ...text, events: toldOf(args, text) };
}

class Written extends Writable {
  readonly #parts: Buffer[] = [];
  readonly #heard: (text: string) => void;

  constructor(heard: (text: string) => void = () => undefined) {
    super();
    this.#heard = heard;
  }

  override _write(part: Buffer, _: BufferEncoding, done: () => void): void {
    this.#parts.push(part);
    done();
    this.#heard(part.toString());
  }

  text(encoding: BufferEncoding): string {
    return Buffer.concat(this.#parts).toString(encoding);
  }
}

/** Sets the environment and the folder of this process. Variables are set one by one: drivers bypass Node to read them. */
function surround(env: NodeJS.ProcessEnv, cwd: string | undefined): () => void {
  const before = { env: { ...process.env }, cwd: process.cwd() };
  const apply = (wanted: NodeJS.ProcessEnv): void => {
    for (const name of Object.keys(process.env)) if (wanted[name] === undefined) delete process.env[name];
    for (const [name, value] of Object.entries(wanted)) if (process.env[name] !== value) process.env[name] = value;
  };
  apply(env);
  if (cwd !== undefined) process.chdir(cwd);
  return () => {
    apply(before.env);
    if (cwd !== undefined) process.chdir(before.cwd);
  };
}

/** Runs a command in a new process. */
export function millraceProcess(args: readonly string[], { cwd, env = {}, encoding = 'utf8' }: RunOptions = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    encoding,
    env: { ...cleanEnvironment(), ...env },
    maxBuffer: 2 ** 28,
    ...(cwd !== undefined && { cwd }),
  });
  return { status, stdout, stderr, events: toldOf(args, { stdout, stderr }) };
}

/** A running command. */
export interface Started {
  readonly child: ChildProcess;
  /** Rejects if an event does not match the schema. */
  readonly ended: Promise<Ended>;
  /** The first matching event; rejects if the command ends without one. */
  until(matches: (event: Event) => boolean): Promise<Event>;
}

export interface Ended extends Omit<Ran, 'events'> {
  readonly signal: NodeJS.Signals | null;
  /** All events, `start` included. */
  readonly events: readonly Event[];
}

export interface StartOptions extends RunOptions {
  /** A program that starts the command, with its arguments. */
  readonly through?: readonly string[];
  readonly uid?: number;
  /** Called with each piece of output from either stream. */
  readonly heard?: (text: string, child: ChildProcess) => void;
}

export function start(args: readonly string[], options: StartOptions = {}): Started {
  const { cwd, env = {}, uid, heard, through = [] } = options;
  const [program = '', ...rest] = [...through, process.execPath, main, ...args];
  const child = spawn(program, rest, {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
    ...(uid !== undefined && { uid, gid: uid }),
  });
  const text = { stdout: '', stderr: '' };
  const events: Event[] = [];
  const faults: string[] = [];
  const waiting = new Set<() => void>();
  let unread = '';
  const read = (part: string): void => {
    const lines = (unread + part).split('\n');
    unread = lines.pop() ?? '';
    const parsed = lines.map((line) => JSON.parse(line) as Event);
    faults.push(...parsed.flatMap((event) => faultOf(event) ?? []));
    events.push(...parsed);
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
      if (faults.length > 0) reject(new Error(`not valid by the schema:\n${faults.join('\n')}`));
      resolve({ status, signal, ...text, events });
    });
  });
  const until = (matches: (event: Event) => boolean): Promise<Event> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = events.find(matches);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
      const late = (): void => reject(new Error(`no event matched: ${JSON.stringify(events.slice(-5))}${text.stderr}`));
      ended.then(late, reject);
    });
  return { child, ended, until };
}

/** Starts a command, and calls `act` once when its output matches `when`. */
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

/** The stream of the events; undefined without `--json`. `words` writes only words to stdout. */
const streamOf = (args: readonly string[]): 'stdout' | 'stderr' | undefined =>
  args.includes('--json') ? (args[0] === 'words' ? 'stderr' : 'stdout') : undefined;

function toldOf(args: readonly string[], text: { readonly stdout: string; readonly stderr: string }): Event[] {
  const stream = streamOf(args);
  return stream === undefined ? [] : eventsOf(text[stream]);
}

export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(MILLRACE_(?!CACHE_DIR)|NO_COLOR|FORCE_COLOR|npm_command$)/.test(name),
    ),
  );
}
