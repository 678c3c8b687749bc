import { Argument, Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { parsePriority } from '../../console/ledger/job-session.js';
import { flag, options, valueOption } from '../../console/options/options.js';
import type { CommandResult } from '../../console/output/output.js';
import { openStore, type Store } from '../../store/index.js';
import { cancel, pause, remove, setPriority } from './control.js';
import { exportTo, importFrom } from './exchange.js';
import { resume } from './resume.js';
import { list, show } from './view.js';

/** `millrace jobs …` */
export function jobsCommand(): Command {
  const jobs = new Command('jobs').description('what the ledger keeps: jobs, what they have done and found');
  const add = <Options extends StoreOptions>(
    command: Command,
    run: (call: StoreCall<Options>) => Promise<CommandResult>,
  ) => {
    command.addOption(options.dataDir()).action(action(withStore(run)));
    jobs.addCommand(command);
    return command;
  };
  const one = (name: string, description: string): Command =>
    new Command(name).description(description).argument('<job>', ID);
  const several = (name: string, description: string): Command =>
    new Command(name).description(description).argument('<job...>', ID);

  withExamples(
    add(
      new Command('list')
        .description('all jobs, the most important first')
        .addOption(flag('--open', 'only those that are not over')),
      list,
    ),
    ['millrace jobs list --open'],
  );
  withExamples(
    add(one('show', 'all of one job, with its hits').addOption(flag('--ranges', 'what is done, range by range')), show),
    ['millrace jobs show last'],
    ['millrace jobs show 3f2a --ranges --json'],
  );
  withExamples(
    add(
      new Command('resume')
        .description('go on with jobs: paused ones, or by their command, one after the other')
        .argument('[job...]', ID)
        .addOption(flag('--all', 'all that are open, the most important first')),
      resume,
    ),
    ['millrace jobs resume last'],
    ['millrace jobs resume --all'],
  );
  withExamples(add(several('pause', 'have the processes that run them start no more work'), pause), [
    'millrace jobs pause last',
  ]);
  withExamples(add(several('cancel', 'end jobs; what they have done and found stays'), cancel), [
    'millrace jobs cancel 3f2a 77b0',
  ]);
  withExamples(add(several('remove', 'forget jobs, their hits included'), remove), ['millrace jobs remove 3f2a']);
  withExamples(
    add(
      one('priority', 'how important a job is: others pause on devices that both use').addArgument(
        new Argument('<n>', 'higher is more important; a job begins with 0').argParser(parsePriority),
      ),
      setPriority,
    ),
    ['millrace jobs priority last 5'],
  );
  withExamples(
    add(
      one('export', 'a job as JSON, for another machine').addOption(
        valueOption('-o, --output <file>', 'where to (default: stdout)'),
      ),
      exportTo,
    ),
    ['millrace jobs export last -o job.json'],
  );
  withExamples(
    add(
      new Command('import')
        .description('take in what was done elsewhere: ranges and hits')
        .argument('<file>', 'what `jobs export` wrote; - for stdin'),
      importFrom,
    ),
    ['millrace jobs import job.json'],
  );
  return withExamples(
    jobs,
    ['millrace jobs list'],
    ['millrace jobs show last', 'the job that was worked on last'],
    ['millrace jobs pause 3f2a'],
  );
}

const ID = 'its id, the beginning of it, or last';

export interface StoreOptions {
  readonly dataDir: string;
}

export interface StoreCall<Options extends StoreOptions> extends Call<Options> {
  readonly store: Store;
}

/** Opens the ledger around a command. */
function withStore<Options extends StoreOptions>(
  run: (call: StoreCall<Options>) => Promise<CommandResult>,
): (call: Call<Options>) => Promise<CommandResult> {
  return async (call) => {
    const store = await openStore(call.options.dataDir, { warn: call.output.warn });
    try {
      return await run({ ...call, store });
    } finally {
      await store.close().catch(() => undefined);
    }
  };
}
