import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { options, valueOption } from '../console/options/options.js';
import type { CommandResult } from '../console/output/output.js';
import { type Address, parseAddress } from '../console/telemetry/options.js';
import { openStore } from '../store/index.js';
import { startDashboard } from '../web/live/start.js';

/** `millrace dashboard` */
export function dashboardCommand(): Command {
  const command = new Command('dashboard')
    .description('show all running processes and stored jobs of a data directory in a browser')
    .addOption(
      valueOption('--listen <host:port>', 'address to serve the page at')
        .argParser(parseAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any port'),
    )
    .addOption(options.dataDir())
    .action(action(dashboard));
  return withExamples(
    command,
    ['millrace dashboard', 'prints the address to open'],
    ['millrace dashboard --listen 8080', 'the address stays the same'],
  );
}

interface DashboardCommandOptions {
  readonly listen: Address;
  readonly dataDir: string;
}

/** Serves the page until it is stopped. */
async function dashboard({ output, options: given, signal }: Call<DashboardCommandOptions>): Promise<CommandResult> {
  // Creates the directory, and reports one that cannot be used before the page is served.
  await (await openStore(given.dataDir, { warn: output.warn })).close();
  const served = await startDashboard(given.listen, { directory: given.dataDir, warn: output.warn }, '--listen');
  try {
    output.sayUnredacted(`dashboard: ${served.url}`);
    output.event('listening', { url: served.url.replace(/#.*/, '') });
    // The server does not keep the process alive; this timer does.
    const alive = setInterval(() => undefined, 1 << 30);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    clearInterval(alive);
    return Exit.ok;
  } finally {
    await served.close();
  }
}
