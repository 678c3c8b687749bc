import { Command } from 'commander';
import { applyConventions } from '../console/command/conventions.js';
import { buildVersion } from '../console/command/version.js';

/**
 * The `millrace` command; each subcommand is defined in its own module. If `only` names a command, the others are not
 * loaded: loading all of them takes as long as starting Node.
 */
export async function program(only?: string): Promise<Command> {
  const root = new Command('millrace')
    .description('Kernels written once in TypeScript, run on every processor you have.')
    .version(buildVersion(), '-V, --version', 'show the version and the build');
  for (const command of await Promise.all(namesFor(only).map((name) => commands[name]?.()))) {
    if (command) root.addCommand(command);
  }
  applyConventions(root);
  root.addHelpText('after', help);
  return root;
}

function namesFor(only: string | undefined): readonly string[] {
  if (only === '-V' || only === '--version') return [];
  return only !== undefined && only !== COMPLETION && Object.hasOwn(commands, only) ? [only] : Object.keys(commands);
}

/** In the order of the help. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  tour: async () => (await import('./tour.js')).tourCommand(),
  devices: async () => (await import('./devices.js')).devicesCommand(),
  doctor: async () => (await import('./doctor/command.js')).doctorCommand(),
  selftest: async () => (await import('./selftest.js')).selftestCommand(),
  init: async () => (await import('./init.js')).initCommand(),
  run: async () => (await import('./run/command.js')).runCommand(),
  jobs: async () => (await import('./jobs/command.js')).jobsCommand(),
  dashboard: async () => (await import('./dashboard.js')).dashboardCommand(),
  fleet: async () => (await import('./fleet/command.js')).fleetCommand(),
  kernel: async () => (await import('./kernel.js')).kernelCommand(),
  playground: async () => (await import('../web/playground/command.js')).playgroundCommand(),
  export: async () => (await import('./export.js')).exportCommand(),
  bench: async () => (await import('./bench/command.js')).benchCommand(),
  tune: async () => (await import('./tune.js')).tuneCommand(),
  block: async () => (await import('../workload/block/command.js')).blockCommand(),
  words: async () => (await import('../workload/words/command.js')).wordsCommand(),
  uhash: async () =>
    (await import('../workload/uhash/command.js'))
      .uhashCommand()
      .addCommand((await import('./tune.js')).tuneCommand('uhash')),
  encode: async () => (await import('../workload/encode/command.js')).encodeCommand(),
  gaps: async () => (await import('../workload/gaps/command.js')).gapsCommand(),
  cache: async () => (await import('./cache.js')).cacheCommand(),
  schema: async () => (await import('./schema.js')).schemaCommand(),
  completion: async () => (await import('./completion/command.js')).completionCommand(),
};
/** Needs all the other commands. */
const COMPLETION = 'completion';

const help = `
Every option can also be set by an environment variable (MILLRACE_DEVICE for --device) or in
~/.config/millrace/config.json. A flag overrides the variable, the variable overrides the file.
\`millrace COMMAND --help\` lists the options of a command, with examples.
Exit status: 0 yes or complete, 1 no, 2 stopped at a checkpoint, 3 aborted, 4 limit reached, 64 usage error,
69 no device, 70 internal error, 74 file error, 76 a device failed or gave wrong results, 77 self-test failed.

Examples:
  millrace tour                        # show what works on this machine
  millrace init                        # write an example kernel
  millrace run kernel.ts --space 2^32  # try 2^32 indices on the best device
  eval "$(millrace completion bash)"   # complete commands and options with Tab`;
