import type { Call } from '../../../console/command/action.js';
import { Exit } from '../../../console/command/exit.js';
import { type FleetJobs, withFleet } from '../../../console/fleet/jobs.js';
import type { FleetOptions } from '../../../console/fleet/place.js';
import type { JobSession } from '../../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor } from '../../../console/monitor/monitor.js';
import { count, duration, percent, plural, rate } from '../../../console/output/format.js';
import type { CommandResult } from '../../../console/output/output.js';
import { shareOf } from '../../../engine/work/space.js';
import type { FleetSearch } from '../../../fleet/client/index.js';
import { fleetGapsJob } from '../job/fleet.js';
import type { FoundGap } from '../job/flow.js';
import { knownIntervals } from '../job/interval-search.js';
import { knownGaps } from '../job/search.js';
import { reportGap } from './report.js';
import type { SearchTask } from './search.js';

export interface FleetGapOptions extends MonitorOptions, FleetOptions {
  readonly first?: boolean;
  readonly list?: string;
}

/** Searches for gaps on a fleet: output, exit status and Ctrl-C are those of a search on this machine. */
export function searchOnFleet(
  call: Call<FleetGapOptions>,
  task: SearchTask,
  session: JobSession<FoundGap>,
): Promise<CommandResult> {
  const packed = fleetGapsJob(task.spec, task.crt?.set, task.space);
  return withFleet(call, 'gaps search', (jobs) => follow(call, task, session, jobs, jobs.search(packed)));
}

async function follow(
  call: Call<FleetGapOptions>,
  task: SearchTask,
  session: JobSession<FoundGap>,
  jobs: FleetJobs,
  found: FleetSearch,
): Promise<CommandResult> {
  const { options: opts, output } = call;
  const { spec, crt, space, odds } = task;
  let gaps = 0;
  const watched = {
    name: crt ? 'intervals without a prime' : `gaps of ${spec.minGap} or more`,
    unit: crt ? 'intervals' : 'int',
    ...space,
    get before() {
      return found.before;
    },
    progress: () => found.progress,
    devices: () => [],
    hits: () => gaps,
    ...(opts.first && { chance: odds.chance }),
  };
  const monitor = startMonitor(output, opts, watched, jobs.controls(call));
  const began = performance.now();
  try {
    for await (const gap of crt ? knownIntervals(crt.intervals, spec.start, found) : knownGaps(spec.start, found)) {
      const reported = reportGap(output, spec, gap, opts.list);
      if (reported === undefined) continue;
      gaps += 1;
      await session.notify(reported);
      if (opts.first) break;
    }
  } finally {
    monitor.end();
  }
  const seconds = (performance.now() - began) / 1000;
  const done = found.progress?.done ?? 0n;
  const unit = crt ? 'intervals' : 'integers';
  const speed = `${rate(Number(done) / seconds, watched.unit)} on ${plural(jobs.workers, 'worker')}`;
  output.say(output.stderrStyle.dim(`${count(done)} ${unit} in ${duration(seconds)}, ${speed}`));
  const job = found.job?.slice(0, 12);
  const answer = { job, gaps, [unit]: done, seconds };
  if (found.isOver || (opts.first && gaps > 0)) return { exit: gaps > 0 ? Exit.ok : Exit.no, answer };
  const share = percent(shareOf(found.last?.done ?? 0n, space.length));
  output.say(`stopped at ${share}; the same command resumes it (job ${job} of the fleet)`);
  return { exit: call.stopped ?? Exit.stopped, answer };
}
