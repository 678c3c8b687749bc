import { Exit, type ExitCode } from './exit.js';
import { host } from './host.js';
import type { Output } from './output.js';

/** How a command is told to end: once it stops at its next checkpoint, twice the process ends. */
export interface Stopping {
  /** Aborted when the command should end. */
  readonly signal: AbortSignal;
  /** With which status it was told to. */
  readonly exit: ExitCode | undefined;
  stop(exit: ExitCode): void;
  /** The command has ended: signals are the system's again. */
  end(): void;
}

/**
 * Listens to Ctrl-C and its kin. `graceMs` is how long a command may take to end by itself: a checkpoint has to be
 * written, and the device's chunk to be waited for, which may take a second.
 */
export function watchSignals(output: Output, graceMs: number): Stopping {
  const controller = new AbortController();
  let exit: ExitCode | undefined;
  const timers: NodeJS.Timeout[] = [];
  const leave = (): never => {
    output.say('aborted');
    output.event('error', { code: 'aborted', message: 'aborted by the user' });
    output.event('done', { exit: Exit.aborted });
    output.close();
    return host().exit(Exit.aborted);
  };
  const stop = (status: ExitCode): void => {
    exit ??= status;
    controller.abort();
  };
  const onSignal = (): void => {
    if (controller.signal.aborted) leave();
    stop(Exit.stopped);
    timers.push(setTimeout(leave, graceMs).unref());
    timers.push(setTimeout(() => output.say('stopping; Ctrl-C again aborts'), TELL_MS).unref());
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: controller.signal,
    get exit() {
      return exit;
    },
    stop,
    end: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** A terminal that is closed ends what runs in it, as a service manager does. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What ends at once needs no word. */
const TELL_MS = 500;
