import { Argument, Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { parsePriority } from '../../console/ledger/job-session.js';
import { flag, options, valueOption } from '../../console/options/options.js';
import type { CommandResult } from '../../console/output/output.js';
import { openStore, openStoreIfPresent, type Store } from '../../store/index.js';
import { cancel, pause, remove, setPriority } from './control.js';
import { exportTo, importFrom } from './exchange.js';
import { resume } from './resume.js';
import { list, show } from './view.js';

/** `millrace jobs …` */
export function jobsCommand(): Command {
  const jobs = new Command('jobs').description('list and control the jobs in the ledger');
  const add = <Options extends StoreOptions>(
    command: Command,
    run: (call: StoreCall<Options>) => Promise<CommandResult>,
    open: typeof openStore = openStoreIfPresent,
  ) => {
    command.addOption(options.dataDir()).action(action(withStore(run, open)));
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
        .description('list all jobs, highest priority first')
        .addOption(flag('--open', 'list only unfinished jobs')),
      list,
    ),
    ['millrace jobs list --open'],
  );
  withExamples(
    add(one('show', 'show one job, with its hits').addOption(flag('--ranges', 'also list the finished ranges')), show),
    ['millrace jobs show last'],
    ['millrace jobs show 3f2a --ranges --json'],
  );
  withExamples(
    add(
      new Command('resume')
        .description('resume paused jobs in their processes, and others by running their commands, one at a time')
        .argument('[job...]', ID)
        .addOption(flag('--all', 'resume all open jobs, highest priority first'))
        .addOption(options.runtime())
        .addOption(options.maxTemp())
        .addOption(options.maxPower())
        .addOption(options.maxCpu()),
      resume,
    ),
    ['millrace jobs resume last'],
    ['millrace jobs resume --all --runtime 8h --max-temp 80', 'limits apply to each of them'],
  );
  withExamples(add(several('pause', 'pause jobs: the processes that run them start no more work'), pause), [
    'millrace jobs pause last',
  ]);
  withExamples(add(several('cancel', 'end jobs; their progress and hits stay in the ledger'), cancel), [
    'millrace jobs cancel 3f2a 77b0',
  ]);
  withExamples(add(several('remove', 'delete jobs and their hits from the ledger'), remove), [
    'millrace jobs remove 3f2a',
  ]);
  withExamples(
    add(
      one('priority', 'set the priority of a job: jobs with a lower one pause on devices that both use').addArgument(
        new Argument('<n>', 'higher is more important; default: 0').argParser(parsePriority),
      ),
      setPriority,
    ),
    ['millrace jobs priority last 5'],
  );
  withExamples(
    add(
      one('export', 'write a job as JSON, for another machine').addOption(
        valueOption('-o, --output <file>', 'file to write (default: stdout)'),
      ),
      exportTo,
    ),
    ['millrace jobs export last -o job.json'],
  );
  withExamples(
    add(
      new Command('import')
        .description('add the finished ranges and hits of an exported job')
        .argument('<file>', 'file that `jobs export` wrote; - for stdin'),
      importFrom,
      openStore,
    ),
    ['millrace jobs import job.json'],
  );
  return withExamples(
    jobs,
    ['millrace jobs list'],
    ['millrace jobs show last', 'the most recently active job'],
    ['millrace jobs pause 3f2a'],
  );
}

const ID = 'id of a job, the beginning of an id, or last';

export interface StoreOptions {
  readonly dataDir: string;
}

export interface StoreCall<Options extends StoreOptions> extends Call<Options> {
  readonly store: Store;
}

/** Opens the ledger around a command. */
function withStore<Options extends StoreOptions>(
  run: (call: StoreCall<Options>) => Promise<CommandResult>,
  open: typeof openStore,
): (call: Call<Options>) => Promise<CommandResult> {
  return async (call) => {
    const store = await open(call.options.dataDir, { warn: call.output.warn });
    try {
      return await run({ ...call, store });
    } finally {
      await store.close().catch(() => undefined);
    }
  };
}
