import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { VirtualScreen } from './screen.js';

/** Runs commands in a real pseudo-terminal, with a small C program that is compiled on first use. */

const source = fileURLToPath(new URL('./pty.c', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-pty-'));
const program = join(folder, 'pty');

/** Returns the reason why pseudo-terminals are not available; undefined if they are. */
export function noPty(): string | undefined {
  if (process.platform !== 'linux') return 'the pseudo-terminal of the tests is written for Linux';
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true }); // a test file in the same process may have removed it
    spawnSync('cc', ['-O1', '-o', program, source, '-lutil'], { stdio: 'ignore' });
  }
  return existsSync(program) ? undefined : 'no C compiler for the pseudo-terminal';
}

export const removePty = (): void => rmSync(folder, { recursive: true, force: true });

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

export interface Terminal {
  /** All output so far. */
  readonly text: string;
  /** The lines on the screen. */
  readonly screen: readonly string[];
  press(keys: string): void;
  /**
   * Resizes the window. The command is stopped meanwhile: output between the new size and the signal that reports it leaves
   * traces in any terminal, and a busy machine makes that interval long.
   */
  resize(columns: number, rows: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves to the screen when it matches and output has paused; rejects if the command ends first. */
  until(pattern: RegExp): Promise<readonly string[]>;
  readonly ended: Promise<TerminalEnd>;
}

export interface TerminalEnd {
  /** `exit 0`, `signal 15`. */
  readonly how: string;
  /** True if the terminal's settings are the same as before. */
  readonly isRestored: boolean;
}

export function startInTerminal(command: readonly string[], options: TerminalOptions = {}): Terminal {
  const { columns = 80, rows = 24, env = {}, cwd } = options;
  const screen = new VirtualScreen(columns, rows);
  const child = spawn(program, [String(columns), String(rows), ...command], {
    stdio: ['pipe', 'pipe', 'inherit', 'pipe', 'pipe'],
    env: { ...process.env, TERM: 'xterm', ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const [stdin, stdout, , sizes, news] = child.stdio as unknown as [Writable, Readable, null, Writable, Readable];
  let text = '';
  let report = '';
  let isOver = false;
  let drawn: NodeJS.Timeout | undefined;
  const waiting = new Set<() => void>();
  const look = (): void => {
    for (const check of waiting) check();
  };
  const lookSoon = (): void => {
    clearTimeout(drawn);
    drawn = setTimeout(look, FRAME_MS);
  };
  stdout.setEncoding('utf8').on('data', (part) => {
    text += part;
    screen.write(part);
    lookSoon();
  });
  news.setEncoding('utf8').on('data', (part) => {
    report += part;
    lookSoon();
  });
  const ended = new Promise<TerminalEnd>((resolve) => {
    child.on('close', () => {
      isOver = true;
      clearTimeout(drawn);
      look();
      const how = /^(exit|signal) \d+$/m.exec(report)?.[0] ?? 'lost';
      resolve({ how, isRestored: /^restored$/m.test(report) });
    });
  });
  const kill = (signal: NodeJS.Signals): void => {
    const pid = Number(/^pid (\d+)$/m.exec(report)?.[1]);
    process.kill(pid, signal);
  };
  const until: Terminal['until'] = (pattern) =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const { lines } = screen;
        const isThere = pattern.test(lines.join('\n')) && report !== '';
        if (!isThere && !isOver) return;
        waiting.delete(check);
        if (isThere) resolve(lines);
        else reject(new Error(`ended (${report.trim()}) without ${pattern}:\n${text}`));
      };
      waiting.add(check);
      lookSoon();
    });
  return {
    get text() {
      return text;
    },
    get screen() {
      return screen.lines;
    },
    press: (keys) => void stdin.write(keys),
    resize: async (wide, high) => {
      await until(/^/); // between two frames
      kill('SIGSTOP');
      await until(/^/);
      screen.resize(wide, high);
      sizes.write(`${wide} ${high}\n`);
      while (!isOver && !report.includes(`size ${wide} ${high}\n`)) await new Promise((next) => setTimeout(next, 10));
      if (!isOver) kill('SIGCONT');
    },
    kill,
    until,
    ended,
  };
}

/** Output arrives in pieces: a frame is complete if no piece has arrived for this time. */
const FRAME_MS = 60;
