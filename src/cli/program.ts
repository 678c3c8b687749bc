import { Command } from 'commander';
import { blockCommand } from '../workload/block/command.js';
import { benchCommand } from './bench.js';
import { devicesCommand } from './devices.js';
import { doctorCommand } from './doctor/command.js';
import { initCommand } from './init.js';
import { kernelCommand } from './kernel.js';
import { runCommand } from './run/command.js';
import { selftestCommand } from './selftest.js';
import { tourCommand } from './tour.js';
import { version } from './version.js';

/** The `millrace` command: what there is, each part described where it lives. */
export function program(): Command {
  const root = new Command('millrace')
    .description('Kernels written once in TypeScript, run on every processor there is.')
    .version(version(), '-V, --version', 'the version')
    .configureHelp({ subcommandTerm: (command) => command.name() });
  const commands = [
    tourCommand(),
    devicesCommand(),
    doctorCommand(),
    selftestCommand(),
    initCommand(),
    runCommand(),
    kernelCommand(),
    benchCommand(),
    blockCommand(),
  ];
  for (const command of commands) root.addCommand(command);
  everyCommand(root, (command) => command.helpOption('-h, --help', 'this help').helpCommand(false));
  root.addHelpText(
    'after',
    '\nEvery option is also a variable: --device is MILLRACE_DEVICE. `millrace COMMAND --help` says more.',
  );
  return root;
}

export function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}
