import { readFileSync } from 'node:fs';
import { host } from '../command/host.js';

/** Reads single keys while a job runs, without echo. */
export interface Keys {
  end(): void;
}

/**
 * Reads keys if stdin is a terminal and the process is in the foreground. The terminal mode is restored however the
 * process ends: on `end`, on exit, and on Ctrl-Z; after a signal that ends the process, Node restores it.
 */
export function readKeys({ onKey, onSuspend }: KeyHandlers, stdin: NodeJS.ReadStream = host().stdin): Keys {
  if (!stdin.isTTY || !isForeground()) return { end: () => {} };
  const setRaw = (isRaw: boolean): void => {
    try {
      stdin.setRawMode(isRaw);
    } catch {
      // the terminal is closed
    }
  };
  const onData = (data: Buffer): void => {
    for (const key of data.toString('utf8')) {
      const signal = SIGNALS[key];
      // Both take effect immediately, so the terminal is restored first.
      if (signal === 'SIGTSTP' || signal === 'SIGQUIT') {
        onSuspend();
        setRaw(false);
      }
      if (signal === undefined) onKey(key.toLowerCase());
      else process.kill(process.pid, signal);
    }
  };
  const restore = (): void => setRaw(false);
  const onContinue = (): void => setRaw(isForeground());
  setRaw(true);
  stdin.on('data', onData);
  stdin.resume();
  stdin.unref(); // waiting for a key does not keep the process alive
  process.on('exit', restore);
  process.on('SIGCONT', onContinue);
  return {
    end: () => {
      stdin.off('data', onData);
      stdin.pause();
      process.off('exit', restore);
      process.off('SIGCONT', onContinue);
      restore();
    },
  };
}

export interface KeyHandlers {
  /** Letters are in lower case. */
  onKey(key: string): void;
  /** Called before the process releases the terminal for a while. */
  onSuspend(): void;
}

/** Keys that the terminal turns into signals, except in raw mode. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  '\u0003': 'SIGINT',
  '\u001a': 'SIGTSTP',
  '\u001c': 'SIGQUIT',
};

/** The system stops a background process that changes the terminal's settings. */
function isForeground(stat: () => string = () => readFileSync('/proc/self/stat', 'utf8')): boolean {
  try {
    const text = stat();
    // Fields after the program's name in parentheses: state, parent, group, session, terminal, the terminal's group.
    const [, , group, , , foreground] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true; // no /proc here
  }
}
