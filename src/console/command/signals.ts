import type { Output } from '../output/output.js';
import { Exit, type ExitCode } from './exit.js';
import { host, processHost } from './host.js';

/** How a command is stopped: the first signal stops it at its next checkpoint, the second ends the process. */
export interface StopHandle {
  /** Aborted when the command should end. */
  readonly signal: AbortSignal;
  /** The exit status requested by `stop`. */
  readonly exit: ExitCode | undefined;
  stop(exit: ExitCode): void;
  /**
   * Called when the command has ended: restores the default signal handling, and ends the process soon if it was stopped.
   */
  end(): void;
}

/**
 * Handles SIGINT, SIGTERM and SIGHUP. `graceMs` is how long a command may take to end by itself: it writes a checkpoint
 * and waits for the chunk on its device, which may take a second.
 */
export function watchSignals(output: Output, graceMs: number): StopHandle {
  const controller = new AbortController();
  let exit: ExitCode | undefined;
  const timers: NodeJS.Timeout[] = [];
  const own = host();
  let quit: ((status: number) => void) | undefined;
  const endProcess = (status: number): never => {
    if (own === processHost) process.on('exit', (code) => quit?.(code));
    return own.exit(status);
  };
  const abort = (): never => {
    output.say('aborted');
    output.event('error', { code: 'aborted', message: 'aborted by the user' });
    output.event('done', { exit: Exit.aborted });
    output.close();
    return endProcess(Exit.aborted);
  };
  const stop = (status: ExitCode): void => {
    exit ??= status;
    controller.abort();
  };
  const onSignal = (): void => {
    if (controller.signal.aborted) abort();
    stop(Exit.stopped);
    // An ordinary exit waits for the threads of DNS lookups, which takes until a silent name server times out.
    void import('../../device/native/libc.js').then(
      (libc) => {
        quit = libc.exitNow;
      },
      () => undefined, // without a C library the process exits in the ordinary way
    );
    timers.push(setTimeout(abort, graceMs).unref());
    timers.push(setTimeout(() => output.say('stopping; Ctrl-C again aborts'), MESSAGE_DELAY_MS).unref());
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
      // A pending DNS lookup or a running compiler must not keep the process alive any longer.
      if (!controller.signal.aborted || own !== processHost) return;
      setTimeout(() => endProcess(Number(own.exitCode ?? Exit.ok)), MAX_LINGER_MS).unref();
    },
  };
}

/** Closing a terminal stops the command, as a service manager does. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** A command that ends sooner prints no message about stopping. */
const MESSAGE_DELAY_MS = 500;
/** How long other work may keep the process alive after a command was stopped. */
const MAX_LINGER_MS = 300;
