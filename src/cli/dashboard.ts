import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { options, parseFleet, valueOption } from '../console/options/options.js';
import type { CommandResult } from '../console/output/output.js';
import { registerSecret } from '../console/output/redact.js';
import { type Address, parseAddress } from '../console/telemetry/options.js';
import { FleetClient } from '../fleet/client/index.js';
import { inviteFor } from '../fleet/local.js';
import { Bus } from '../fleet/nats/index.js';
import { openStore } from '../store/index.js';
import { watchRemoteFleet } from '../web/live/fleet/remote-fleet.js';
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
    .addOption(
      valueOption('--fleet [invite]', 'also show the fleet of an invite, which is in a file').argParser(parseFleet),
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
  readonly fleet?: string | boolean;
}

/** Serves the page until it is stopped. */
async function dashboard({ output, options: given, signal }: Call<DashboardCommandOptions>): Promise<CommandResult> {
  // Creates the directory, and reports one that cannot be used before the page is served.
  await (await openStore(given.dataDir, { warn: output.warn })).close();
  // The fleet that is served from the data directory is found by its process.
  const bus = typeof given.fleet === 'string' ? await connectFleet(given.fleet, given.dataDir) : undefined;
  const fleet = bus && watchRemoteFleet(new FleetClient(bus));
  const shown = { directory: given.dataDir, warn: output.warn, ...(fleet && { fleet }) };
  const served = await startDashboard(given.listen, shown, '--listen').catch(async (error: unknown) => {
    await bus?.close();
    throw error;
  });
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
    await bus?.close();
  }
}

function connectFleet(given: string, dataDir: string): Promise<Bus> {
  const invite = inviteFor(given, dataDir);
  registerSecret(invite.seed);
  return Bus.connect(invite, 'millrace dashboard');
}
