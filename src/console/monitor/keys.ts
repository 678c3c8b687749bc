import { readFileSync } from 'node:fs';
import { host } from '../command/host.js';

/** Keys that are pressed while a job runs, each at once and without being shown. */
export interface Keys {
  end(): void;
}

/**
 * Reads keys where there is somebody to press them. The terminal is given back as it was however the process ends: on
 * `end`, on exit, when it is stopped by Ctrl-Z; after a signal that ends it Node does so.
 */
export function readKeys({ pressed, leaving }: KeyHandlers, stdin: NodeJS.ReadStream = host().stdin): Keys {
  if (!stdin.isTTY || !isForeground()) return { end: () => {} };
  const setRaw = (isRaw: boolean): void => {
    try {
      stdin.setRawMode(isRaw);
    } catch {
      // the terminal is gone: there is nobody left to press a key
    }
  };
  const onData = (data: Buffer): void => {
    for (const key of data.toString('utf8')) {
      const signal = SIGNALS[key];
      // Both are over at once, without a word of goodbye.
      if (signal === 'SIGTSTP' || signal === 'SIGQUIT') {
        leaving();
        setRaw(false);
      }
      if (signal === undefined) pressed(key.toLowerCase());
      else process.kill(process.pid, signal);
    }
  };
  const restore = (): void => setRaw(false);
  const onContinue = (): void => setRaw(isForeground());
  setRaw(true);
  stdin.on('data', onData);
  stdin.resume();
  stdin.unref(); // waiting for a key is no reason to stay
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
  /** Letters are small ones. */
  pressed(key: string): void;
  /** The terminal is about to be somebody else's for a while. */
  leaving(): void;
}

/** What the terminal itself makes signals of, as long as nobody asks for single keys. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  '\u0003': 'SIGINT',
  '\u001a': 'SIGTSTP',
  '\u001c': 'SIGQUIT',
};

/** A process in the background that touches the terminal's settings is stopped by the system until it is called back. */
function isForeground(stat: () => string = () => readFileSync('/proc/self/stat', 'utf8')): boolean {
  try {
    const text = stat();
    // After the program's name in brackets: state, parent, group, session, terminal, the terminal's group.
    const [, , group, , , foreground] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return true; // no /proc here
  }
}
