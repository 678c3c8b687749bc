import { Command, type Option } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption } from '../../console/options/options.js';
import { withPipelineOptions } from '../../console/options/pipeline-options.js';
import { parseSeconds } from '../../console/options/quantity.js';
import { withTuningOptions } from '../../console/options/tuning-options.js';
import type { CommandResult } from '../../console/output/output.js';
import { dashboardOption, prometheusOption, withTelemetryOptions } from '../../console/telemetry/options.js';
import { INVITED_ROLES, type Role } from '../../fleet/nats/index.js';
import { backup } from './backup.js';
import { invite } from './invite.js';
import { join, parseOnly } from './join.js';
import { config, serve } from './serve.js';
import { withServerOptions } from './server-options.js';
import { drain, jobs, revoke, status, type ViewOptions, workers } from './views.js';

/** `millrace fleet …` */
export function fleetCommand(): Command {
  const fleet = new Command('fleet').description('run one job on many machines');
  const ofFleet = (): Option =>
    valueOption('--fleet <invite>', 'file with an invite (default: the fleet that is served from this machine)');
  const add = (command: Command): Command => {
    fleet.addCommand(command.addOption(options.dataDir()));
    return command;
  };
  const view = (name: string, description: string): Command =>
    add(new Command(name).description(description).addOption(ofFleet()));

  withExamples(
    add(
      withServerOptions(
        new Command('serve').description('coordinate a fleet: give out ranges, check hits, keep the ledger'),
      )
        .addOption(flag('--standby', 'follow the coordinator that runs, and take over when it is silent; with --nats'))
        .addOption(prometheusOption())
        .addOption(dashboardOption())
        .action(action(serve, { hasCheckpoints: true })),
    ),
    ['millrace fleet serve'],
    ['millrace fleet serve --listen 0.0.0.0:4222 --advertise fleet.example', 'for other machines'],
    ['millrace fleet serve --nats nats://127.0.0.1:4222'],
    ['millrace fleet serve --standby --nats nats://127.0.0.1:4222 --data-dir spare', 'spare is a backup'],
    ['millrace fleet serve --browsers', 'and a page with which browsers work for the fleet'],
    ['millrace fleet serve --dashboard', 'prints the address of a page that shows the fleet'],
  );
  withExamples(
    add(
      new Command('config')
        .description('print the lines that your own NATS server needs to check users of this fleet')
        .action(action(config)),
    ),
    ['millrace fleet config > accounts.conf'],
  );
  withExamples(
    add(
      new Command('backup')
        .description('copy what a coordinator needs to a new data directory, for a standby or to restore')
        .argument('<folder>', 'a folder that does not exist')
        .action(action(backup)),
    ),
    ['millrace fleet backup spare'],
  );
  const joining = new Command('join')
    .description('work for a fleet until stopped, on the best device of this machine or those of --device')
    .argument(
      '[invite]',
      'file with the line that `fleet invite` prints, or - for standard input (default: the fleet that is served from this machine)',
    )
    .addOption(ofFleet())
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(valueOption('--name <name>', 'name of this worker (default: the name of the machine)'))
    .addOption(
      valueOption('--only <list>', 'take only these jobs, as in block,gaps; `run` for kernels of files').argParser(
        parseOnly,
      ),
    );
  withTelemetryOptions(withDeviceOptions(withPipelineOptions(joining)));
  withExamples(
    withTuningOptions(add(joining.action(action(join, { hasCheckpoints: true })))),
    ['millrace fleet join --device cpu --name attic', 'join the fleet that is served from this machine'],
    ['millrace fleet join attic.invite', 'join another'],
  );
  const shown = (name: string, description: string, run: (call: Call<ViewOptions>) => Promise<CommandResult>) =>
    withExamples(view(name, description).action(action(run)), [`millrace fleet ${name}`]);
  withExamples(
    view('invite', 'make a user of the fleet, and print the line with which it connects')
      .addOption(
        valueOption('--role <role>', 'what it may do')
          .choices(INVITED_ROLES)
          .default('worker' satisfies Role),
      )
      .addOption(valueOption('--expires <time>', 'when it ends').argParser(parseSeconds).default(WEEK, '7d'))
      .addOption(valueOption('--name <name>', 'name of the user (default: its role and a number)'))
      .addOption(flag('--browser', 'print a link that lets a browser work for the fleet'))
      .addOption(flag('--trusted', 'count the results of its workers without audits: for your own machines'))
      .addOption(valueOption('--out <file>', 'write the line to a new file that only you can read'))
      .action(action(invite)),
    ['millrace fleet invite --name attic --out attic.invite'],
    ['millrace fleet invite --role submitter --expires 1d'],
    ['millrace fleet invite --browser --name anna', 'a link to the page of `fleet serve --browsers`'],
  );
  shown('status', 'show the fleet: its server, workers and jobs', status);
  shown('workers', 'list the workers', workers);
  withExamples(
    view('jobs', 'list the jobs, or show who has done one of them')
      .argument('[id]', 'id of a job, or how it begins')
      .addOption(
        valueOption('--recheck <name>', 'let what only this user has done of a job that is over be done again'),
      )
      .action(action(jobs)),
    ['millrace fleet jobs'],
    ['millrace fleet jobs 4f1c', 'which users have done which ranges of a job'],
    ['millrace fleet jobs 4f1c --recheck attic', 'attic was revoked; then submit the job again'],
  );
  withExamples(
    view('drain', 'let a worker finish its leases and leave')
      .argument('<name>', 'name of the worker')
      .action(action(drain)),
    ['millrace fleet drain attic'],
  );
  withExamples(
    view('revoke', 'end a user: its connections, and whatever it sends later')
      .argument('<name>', 'name of the user')
      .action(action(revoke)),
    ['millrace fleet revoke attic'],
  );
  return withExamples(fleet, ['millrace fleet serve', 'in one terminal'], ['millrace fleet join', 'in others']);
}

const WEEK = 7 * 86_400;
