import type { Command } from 'commander';
import { MillraceError } from '../../kernel/error.js';
import {
  type CommandResult,
  type Output,
  type OutputOptions,
  openOutput,
  reportError,
  runToExit,
} from '../output/output.js';
import { redactArguments, registerSecret, registerSecretsOf } from '../output/redact.js';
import { isSecretOption } from '../output/secret-forms.js';
import { loadOptions } from './config.js';
import { type ExitCode, exitOf } from './exit.js';
import { host } from './host.js';
import { watchSignals } from './signals.js';
import { buildVersion } from './version.js';

/**
 * Returns the handler of a command: it resolves the options (file, environment, flags), opens the output, provides an
 * abort signal for Ctrl-C, and sets the exit status.
 */
export function action<Options extends object>(
  run: (call: Call<Options>) => Promise<CommandResult>,
  traits: CommandTraits<Options> = {},
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    host().exitCode = await perform(given.at(-1) as Command, run, traits);
  };
}

export interface Call<Options extends object> {
  readonly output: Output;
  readonly options: Options;
  readonly args: readonly string[];
  /** Where an option's value comes from: `cli` is a flag. */
  sourceOf(option: string): 'cli' | 'env' | 'config' | 'default' | undefined;
  /** Aborted by Ctrl-C, and by `stop`. */
  readonly signal: AbortSignal;
  /** Stops the command at its next checkpoint, as Ctrl-C does, with another status: `Exit.limit`. */
  stop(exit: ExitCode): void;
  /** The status with which the command was asked to stop; `Exit.stopped` after Ctrl-C. */
  readonly stopped: ExitCode | undefined;
}

/** Traits of a command. */
export interface CommandTraits<Options extends object = object> {
  /** Stdout carries data that is not lines for people: events of `--json` go to stderr. */
  readonly isData?: boolean;
  /** The command stops at a checkpoint, which may take a while; may depend on its options. */
  readonly hasCheckpoints?: boolean | ((options: Options) => boolean);
  /** How long the command may take to end after Ctrl-C, in milliseconds. Default: depends on `hasCheckpoints`. */
  readonly graceMs?: number;
}

async function perform<Options extends object>(
  command: Command,
  run: (call: Call<Options>) => Promise<CommandResult>,
  { isData = false, hasCheckpoints = false, graceMs }: CommandTraits<Options>,
): Promise<ExitCode> {
  registerSecretsOf(host().args, process.env);
  const { options, fault } = await resolveOptions(command);
  const { output, outputError } = tryOpenOutput({ ...options, isData });
  for (const [name, value] of Object.entries(options)) {
    if (isSecretOption(name) && typeof value === 'string') registerSecret(value);
  }
  const begin = (): void => {
    output.event('start', startEvent(commandName(command)));
    output.diagnose?.(`millrace ${buildVersion()}: ${redactArguments(host().args).join(' ')}`);
    const failure = fault ?? outputError;
    if (failure !== undefined) throw failure;
  };
  const isLong = typeof hasCheckpoints === 'function' ? hasCheckpoints(options as Options) : hasCheckpoints;
  const stopHandle = watchSignals(output, graceMs ?? (isLong ? CHECKPOINT_MS : GRACE_MS));
  const failureWatch = watchFailures(output);
  const call: Call<Options> = {
    output,
    options: options as Options,
    args: command.processedArgs as string[],
    sourceOf: (option) => command.getOptionValueSource(option) as ReturnType<Call<Options>['sourceOf']>,
    signal: stopHandle.signal,
    stop: (exit) => stopHandle.stop(exit),
    get stopped() {
      return stopHandle.exit;
    },
  };
  try {
    return await runToExit(
      output,
      async () => {
        begin();
        return run(call);
      },
      () => stopHandle.exit,
    );
  } finally {
    stopHandle.end();
    failureWatch.end();
  }
}

/** How long a command may take to end after Ctrl-C, in milliseconds: without and with checkpoints. */
const GRACE_MS = 1000;
const CHECKPOINT_MS = 10_000;

/** The first event of every command. */
export function startEvent(command: string): Readonly<Record<string, unknown>> {
  return { schema: 1, time: new Date().toISOString(), version: buildVersion(), command, pid: process.pid };
}

/** `block solve`. */
function commandName(command: Command): string {
  const { parent } = command;
  return parent === null ? '' : `${commandName(parent)} ${command.name()}`.trim();
}

/**
 * Resolves the options. An invalid config file is reported like any other error, in the form that flags and environment
 * request.
 */
async function resolveOptions(
  command: Command,
): Promise<{ readonly options: ResolvedOptions; readonly fault: MillraceError | undefined }> {
  try {
    return { options: await loadOptions(command), fault: undefined };
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { options: command.opts(), fault: error };
  }
}

type ResolvedOptions = OutputOptions & Readonly<Record<string, unknown>>;

function tryOpenOutput(options: OutputOptions): { readonly output: Output; readonly outputError: unknown } {
  try {
    return { output: openOutput(options), outputError: undefined };
  } catch (error) {
    const { events: _, extraVerbose: __, ...rest } = options;
    return { output: openOutput(rest), outputError: error };
  }
}

/**
 * Handles uncaught errors: without this, a command would end without its last event and with Node's status 1, which means
 * "no".
 */
function watchFailures(output: Output): { end(): void } {
  const onFailure = (error: unknown): void => {
    const exit = exitOf(error);
    reportError(output, error, exit);
    output.event('done', { exit });
    output.close();
    host().exit(exit);
  };
  const names = ['uncaughtException', 'unhandledRejection'] as const;
  for (const name of names) process.on(name, onFailure);
  return {
    end: () => {
      for (const name of names) process.off(name, onFailure);
    },
  };
}
