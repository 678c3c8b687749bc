import type { Command } from 'commander';
import { Exit } from './exit.js';
import { conclude, type Ending, type Output, openOutput } from './output.js';

/** Makes the handler of a command: opens its output, hands it a signal for Ctrl-C, and sets the exit status. */
export function action<Options extends object>(
  run: (call: Call<Options>) => Promise<Ending>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const options = command.opts<Options & { json?: boolean }>();
    const output = openOutput(options.json === true);
    const interrupt = watchInterrupt(output);
    const call = { output, options, args: command.processedArgs as string[], signal: interrupt.signal };
    process.exitCode = await conclude(output, () => run(call));
    interrupt.end();
  };
}

export interface Call<Options extends object> {
  readonly output: Output;
  readonly options: Options;
  readonly args: readonly string[];
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** How long a command may take to end by itself after Ctrl-C, in milliseconds. */
const GRACE = 1000;

/** The first Ctrl-C asks the command to end; the second, or a second later, ends the process. */
function watchInterrupt(output: Output): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const leave = () => {
    output.say('aborted');
    output.event('error', { code: 'aborted', message: 'aborted by the user' });
    output.event('done', { exit: Exit.aborted });
    process.exit(Exit.aborted);
  };
  const onSignal = () => {
    if (controller.signal.aborted) leave();
    controller.abort();
    setTimeout(leave, GRACE).unref();
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: controller.signal,
    end: () => {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
