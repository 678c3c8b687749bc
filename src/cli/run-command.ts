import { type Command, CommanderError } from 'commander';
import { commandLoader, everyCommand } from '../console/command/conventions.js';
import { Exit, exitOf } from '../console/command/exit.js';
import { type Host, processHost, withHost } from '../console/command/host.js';
import { dashboardLoader } from '../console/live/dashboard-loader.js';
import { options } from '../console/options/options.js';
import { endOnFailedOutput, openOutput, reportError } from '../console/output/output.js';
import { registerSecretsOf } from '../console/output/redact.js';
import { routeBench } from './bench/route.js';
import { program } from './program.js';
import { library } from './start/library.js';

/**
 * Runs the command line of this process.
 * @param bundle the folder of joined modules that this one was loaded from, if it was
 */
export async function runProcess(bundle?: string): Promise<void> {
  library.bundle = bundle;
  endOnFailedOutput();
  await runCommand(processHost);
}

/**
 * Runs one command line and sets the host's exit status. Actions report their own errors; a rejection by commander is a
 * usage error.
 */
export function runCommand(host: Host): Promise<void> {
  commandLoader.loadAll = program;
  dashboardLoader.start = async (...given) => (await import('../web/live/start.js')).startCommandDashboard(...given);
  return withHost(host, () => parse(host));
}

async function parse(host: Host): Promise<void> {
  const { stdout, stderr } = host;
  const args = helpAsOption(host.args);
  const root = await program(args[0]);
  let usageError = '';
  let advice = '';
  everyCommand(root, (command) =>
    command.exitOverride().configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text) => {
        usageError = text
          .trim()
          .replace(/^error: (command-argument )?/, '')
          .replaceAll('\n', ' ');
        advice = `${fullName(command)} --help`;
      },
    }),
  );
  try {
    await root.parseAsync(args.length === 0 ? ['--help'] : routeBench(args), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    registerSecretsOf(args, process.env);
    const output = openOutput({ json: args.includes('--json') || options.json().envVar !== undefined });
    const { startEvent } = await import('../console/command/action.js');
    output.event('start', startEvent(''));
    if (!(error instanceof CommanderError)) {
      host.exitCode = exitOf(error);
      reportError(output, error, exitOf(error));
      output.event('done', { exit: exitOf(error) });
      return;
    }
    host.exitCode = Exit.usage;
    if (usageError !== '') output.fail(`${usageError}\n  advice: ${advice}`);
    output.event('error', { code: 'usage', message: usageError || 'a command is missing' });
    output.event('done', { exit: Exit.usage });
  }
}

/** `millrace help run` is `millrace run --help`. */
const helpAsOption = ([first, ...more]: readonly string[]): readonly string[] =>
  first === 'help' ? [...more, '--help'] : first === undefined ? [] : [first, ...more];

/** Returns a command with those that it belongs to: `millrace block solve`. */
const fullName = (command: Command): string =>
  command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
