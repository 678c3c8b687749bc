import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import { type FleetJobs, withFleet } from '../../console/fleet/jobs.js';
import type { FleetOptions } from '../../console/fleet/place.js';
import type { JobSession } from '../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor } from '../../console/monitor/monitor.js';
import { count, duration, percent, plural, rate } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import type { Hit } from '../../engine/flow/ring.js';
import type { SearchMode } from '../../engine/makers/reorder-buffer.js';
import { formatHit } from '../../engine/verify/recompute.js';
import { openVerifier, type Verify } from '../../engine/verify/verify.js';
import { type Range, shareOf } from '../../engine/work/space.js';
import type { FleetHit, FleetSearch } from '../../fleet/client/index.js';
import { packKernelJob } from '../../fleet/manifest/index.js';
import { MillraceError } from '../../kernel/error.js';
import type { Task } from './task.js';

export interface FleetRun {
  readonly call: Call<MonitorOptions & FleetOptions>;
  readonly task: Task;
  readonly space: Range;
  readonly mode: SearchMode;
  readonly limit: number;
  readonly session: JobSession<Hit>;
  print(hit: Hit): Promise<void>;
}

/** Runs a search on a fleet: output, exit status and Ctrl-C are those of a search on this machine. */
export async function runOnFleet(running: FleetRun): Promise<CommandResult> {
  const { call, task } = running;
  const { kernel, job, witness, rest } = task;
  const { buffers = {}, ring, min, max, granularity } = rest;
  const sizes = { ring, min, max, granularity };
  const known = Object.fromEntries(Object.entries(sizes).filter(([, size]) => size !== undefined));
  const described = { kernel, job, buffers, ...(witness && { witness }), ...known };
  const packed = packKernelJob(described, running.space, running.mode);
  const { verify } = rest;
  const verifier = openVerifier<FleetHit>(verify as Verify<FleetHit> | undefined);
  const error = (hit: FleetHit, reason: string | undefined) => disagreement(kernel.name, hit, reason);
  try {
    return await withFleet(call, 'run', (jobs) =>
      follow(running, jobs, jobs.search(packed, verify ? { verify: { verifier, error } } : {})),
    );
  } finally {
    verifier.close();
  }
}

async function follow(
  { call, task, space, mode, limit, session, print }: FleetRun,
  jobs: FleetJobs,
  hits: FleetSearch,
): Promise<CommandResult> {
  const { output, options: given } = call;
  let found = 0;
  const monitored = {
    name: task.kernel.name,
    unit: '',
    length: space.length,
    get before() {
      return hits.before;
    },
    progress: () => hits.progress,
    devices: () => [],
    hits: () => found,
    ...(task.chance !== undefined && { chance: task.chance }),
  };
  const monitor = startMonitor(output, given, monitored, jobs.controls(call));
  const start = performance.now();
  try {
    for await (const hit of hits) {
      found++;
      await print(hit as Hit);
      await session.notify(hit as Hit);
      if (found >= limit) break;
    }
  } finally {
    monitor.end();
  }
  return summary({ call, mode, limit, found, seconds: (performance.now() - start) / 1000 }, space, hits);
}

interface Ending {
  readonly call: FleetRun['call'];
  readonly mode: SearchMode;
  readonly limit: number;
  readonly found: number;
  readonly seconds: number;
}

function summary({ call, mode, limit, found, seconds }: Ending, space: Range, hits: FleetSearch): CommandResult {
  const { output, signal } = call;
  const tried = hits.progress?.done ?? 0n;
  const workers = plural(hits.workers, 'worker');
  const figures = `${count(tried)} tried in ${duration(seconds)}, ${rate(Number(tried) / seconds, '')} on ${workers}`;
  output.say(`${plural(found, 'hit')}; ${figures}`);
  const job = hits.job?.slice(0, 12);
  const answer = { job, hits: found, tried, seconds };
  const isAnswer = mode === 'first' || mode === 'any';
  if (hits.isOver || (isAnswer && found > 0) || found >= limit) {
    const exit = !isAnswer && found >= limit ? Exit.limit : found > 0 ? Exit.ok : Exit.no;
    return { exit, answer };
  }
  const share = percent(shareOf(hits.last?.done ?? 0n, space.length));
  output.say(`stopped at ${share}; the same command resumes from here (job ${job} of the fleet)`);
  return { exit: signal.aborted ? (call.stopped ?? Exit.stopped) : Exit.stopped, answer };
}

const disagreement = (kernel: string, hit: FleetHit, reason: string | undefined): MillraceError =>
  new MillraceError({
    code: 'verify-disagrees',
    message: `your kernel and your verify disagree at index ${hit.index}`,
    asked: `kernel ${kernel}: ${formatHit(hit)}; verify: ${reason ?? 'false'}`,
    advice: 'the coordinator has computed the hit again with the same result: correct the kernel or the verify',
  });
