import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { withDeviceOptions } from '../../console/options/device-options.js';
import { options, valueOption } from '../../console/options/options.js';
import { withPipelineOptions } from '../../console/options/pipeline-options.js';
import type { CommandResult } from '../../console/output/output.js';
import { withTelemetryOptions } from '../../console/telemetry/options.js';
import { join } from './join.js';
import { serve } from './serve.js';
import { drain, invite, jobs, status, type ViewOptions, workers } from './views.js';

/** `millrace fleet …` */
export function fleetCommand(): Command {
  const fleet = new Command('fleet').description('run one job on many machines');
  const add = (command: Command): Command => {
    fleet.addCommand(command.addOption(options.dataDir()));
    return command;
  };
  const view = (name: string, description: string): Command =>
    add(
      new Command(name)
        .description(description)
        .addOption(valueOption('--fleet <invite>', 'the fleet (default: the one that is served from this machine)')),
    );

  withExamples(
    add(
      new Command('serve')
        .description('coordinate a fleet: give out ranges, check hits, keep the ledger')
        .addOption(
          valueOption('--nats <url>', 'NATS server with JetStream (default: a private nats-server is started)'),
        )
        .addOption(valueOption('--token <token>', 'token of the server given by --nats'))
        .action(action(serve, { hasCheckpoints: true })),
    ),
    ['millrace fleet serve'],
    ['millrace fleet serve --nats nats://127.0.0.1:4222'],
  );
  const joining = new Command('join')
    .description('work for a fleet, on all devices of this machine, until stopped')
    .argument('[invite]', 'line that `fleet invite` prints (default: the fleet that is served from this machine)')
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(valueOption('--name <name>', 'name of this worker (default: the name of the machine)'));
  withTelemetryOptions(withDeviceOptions(withPipelineOptions(joining)));
  withExamples(
    add(joining.action(action(join, { hasCheckpoints: true }))),
    ['millrace fleet join --device cpu --name attic', 'join the fleet that is served from this machine'],
    ['millrace fleet join "$(ssh server millrace fleet invite)"', 'join another, through a tunnel'],
  );
  const shown = (name: string, description: string, run: (call: Call<ViewOptions>) => Promise<CommandResult>) =>
    withExamples(view(name, description).action(action(run)), [`millrace fleet ${name}`]);
  shown('invite', 'print the line that lets another program join', invite);
  shown('status', 'show the fleet: its server, workers and jobs', status);
  shown('workers', 'list the workers', workers);
  shown('jobs', 'list the jobs', jobs);
  withExamples(
    view('drain', 'let a worker finish its leases and leave')
      .argument('<name>', 'name of the worker')
      .action(action(drain)),
    ['millrace fleet drain attic'],
  );
  return withExamples(fleet, ['millrace fleet serve', 'in one terminal'], ['millrace fleet join', 'in others']);
}
