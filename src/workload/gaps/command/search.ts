import type { Call } from '../../../console/command/action.js';
import { withEngine } from '../../../console/command/engine.js';
import { Exit, type ExitCode } from '../../../console/command/exit.js';
import { type FleetOptions, isOnFleet } from '../../../console/fleet/place.js';
import { type JobSession, type JobSessionOptions, openJobSession } from '../../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor } from '../../../console/monitor/monitor.js';
import type { DeviceCommandOptions } from '../../../console/options/device-options.js';
import type { PipelineCommandOptions } from '../../../console/options/pipeline-options.js';
import { count, duration, percent, plural, rate } from '../../../console/output/format.js';
import type { CommandResult } from '../../../console/output/output.js';
import type { TelemetryOptions } from '../../../console/telemetry/options.js';
import type { Device } from '../../../device/device.js';
import { between, Engine, type EngineOptions } from '../../../engine/index.js';
import { Recorder } from '../../../engine/telemetry/record.js';
import { shareOf } from '../../../engine/work/space.js';
import { type ChineseSet, type Intervals, intervalsOf, readChineseSet } from '../job/chinese-set.js';
import type { FoundGap, GapFlowOptions, PieceWork } from '../job/flow.js';
import { emptyChance, knownIntervals, searchIntervals } from '../job/interval-search.js';
import { type Gap, type GapSearchOptions, knownGaps, searchGaps } from '../job/search.js';
import { type Odds, SearchStats } from '../job/search-stats.js';
import { type Plan, searchStreams } from '../kernel/plan.js';
import { bitsOf } from '../kernel/reference.js';
import { type NumberOptions, type SearchSpec, searchSpecOf } from './number-options.js';
import {
  type PlanCommandOptions,
  pipelineOptionsOf,
  planOptionsOf,
  refusedPlanOptions,
  warnWithoutGpu,
} from './plan-options.js';
import { diagnosePiece, diagnosePlan, diagnoseStreams, reportGap } from './report.js';

export interface SearchOptions
  extends NumberOptions,
    DeviceCommandOptions,
    PipelineCommandOptions,
    MonitorOptions,
    TelemetryOptions,
    JobSessionOptions,
    FleetOptions,
    PlanCommandOptions {
  readonly device: string;
  readonly crt?: string;
  readonly first?: boolean;
  readonly list?: string;
}

/** The search: everything in a range, or the intervals of a set. */
export interface SearchTask {
  readonly spec: SearchSpec;
  readonly crt: { readonly set: ChineseSet; readonly intervals: Intervals } | undefined;
  readonly space: { readonly start: bigint; readonly length: bigint };
  readonly odds: Odds;
}

/** `millrace gaps search` */
export async function runSearch(call: Call<SearchOptions>): Promise<CommandResult> {
  const task = taskOf(call.options);
  const isFleet = isOnFleet(call, refusedPlanOptions);
  // A job of a fleet is in the ledger of its coordinator.
  const session = await openJobSession<FoundGap>(call, isFleet ? undefined : jobSpecOf(task));
  try {
    if (isFleet) return await (await import('./on-fleet.js')).searchOnFleet(call, task, session);
    const known = session.storedAnswer('all');
    return known ? await reportKnown(call, task, session, known) : await searchOnDevices(call, task, session);
  } catch (error) {
    await session.close(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    await session.close();
  }
}

function taskOf(opts: SearchOptions): SearchTask {
  const set = opts.crt === undefined ? undefined : readChineseSet(opts.crt);
  const spec = searchSpecOf(opts, set?.primorial);
  const logarithm = bitsOf(spec.start) * Math.LN2;
  const resultName = spec.work ? 'a block' : 'a gap';
  if (set) {
    const { offset = 0n } = opts;
    const intervals = intervalsOf(set, spec, spec.minGap, offset);
    const chance = emptyChance(set, intervals);
    const space = between(offset, intervals.count);
    const odds = { logarithm, chance, perIndex: Number(set.primorial), indices: Number(space.length), resultName };
    return { spec, crt: { set, intervals }, space, odds };
  }
  // One number in ln p is prime, and a share of e^−merit of the primes begins a gap of that merit.
  const chance = Math.exp(-spec.minGap / logarithm) / logarithm;
  const space = between(spec.skipped, spec.length);
  const odds = { logarithm, chance, perIndex: 1, indices: Number(space.length), resultName };
  return { spec, crt: undefined, space, odds };
}

/** The job's identity in the ledger: everything that the answer depends on. Primes and window sizes do not matter. */
function jobSpecOf({ spec: { start, minGap }, crt, space }: SearchTask) {
  const set = crt && { primorial: crt.set.primorial, first: crt.intervals.first, length: crt.intervals.length };
  return {
    command: 'gaps search',
    name: `gaps of ${minGap} or more`,
    params: { start, leastGap: minGap, ...(set && { set }) },
    kernel: 'gaps 1',
    space,
  };
}

/** Reports the gaps of earlier runs, without opening a device. */
async function reportKnown(
  { output, options: opts }: Call<SearchOptions>,
  { spec, crt }: SearchTask,
  session: JobSession<FoundGap>,
  known: readonly FoundGap[],
): Promise<CommandResult> {
  const found = crt ? knownIntervals(crt.intervals, spec.start, known) : knownGaps(spec.start, known);
  let gaps = 0;
  for await (const gap of found) {
    const reported = reportGap(output, spec, gap, opts.list);
    if (reported === undefined) continue;
    gaps += 1;
    await session.notify(reported);
    if (opts.first) break;
  }
  const { id } = session.ledger ?? {};
  output.say(`${plural(gaps, 'gap')}, stored by an earlier run; --fresh searches again`);
  await session.end({ isComplete: true });
  return { exit: gaps > 0 ? Exit.ok : Exit.no, answer: { ...(id !== undefined && { job: id }), gaps, seconds: 0 } };
}

function searchOnDevices(
  call: Call<SearchOptions>,
  task: SearchTask,
  session: JobSession<FoundGap>,
): Promise<CommandResult> {
  const { output, options: opts } = call;
  let records = new Recorder(1);
  const setup = {
    name: 'gaps search',
    unit: 'int',
    feeding: pipelineOptionsOf(opts),
    make: (devices: readonly Device[], options: EngineOptions) => {
      warnWithoutGpu(opts, output, devices);
      if (options.records instanceof Recorder) records = options.records;
      return new Engine(devices, { ...searchStreams(devices), ...options, records });
    },
  };
  return withEngine(call, setup, async ({ engine, devices, startTelemetry }) => {
    startTelemetry();
    await diagnoseStreams(output, devices, engine.streams);
    return search(call, task, session, engine, new SearchStats(task.odds, records));
  });
}

async function search(
  call: Call<SearchOptions>,
  task: SearchTask,
  session: JobSession<FoundGap>,
  engine: Engine,
  stats: SearchStats,
): Promise<CommandResult> {
  const { output, options: opts, signal } = call;
  const { spec, space, odds } = task;
  let isOver = false;
  const watched = {
    name: task.crt ? 'intervals without a prime' : `gaps of ${spec.minGap} or more`,
    unit: task.crt ? 'intervals' : 'int',
    ...space,
    before: session.completed.total,
    coverage: () => engine.coverage,
    progress: () => ({ done: stats.done, held: stats.unconfirmed }),
    devices: () => engine.devices,
    hits: () => stats.gaps,
    ...(opts.first && { chance: odds.chance }),
    notes: () => stats.notes(),
  };
  const monitor = startMonitor(output, opts, watched, session.controls(engine, call));
  session.listen(monitor);
  const running: GapSearchOptions = {
    engine,
    signal,
    onProgress: ({ done, held }) => {
      stats.done = done;
      stats.unconfirmed = held;
    },
    ...session.searchOptions,
  };
  try {
    const hooks = {
      onPiece: (one: PieceWork) => {
        stats.addPiece(one);
        if (!task.crt) diagnosePiece(output, spec, one);
      },
      onPlan: (device: Device, plan: Plan) => diagnosePlan(output, device, plan),
    };
    for await (const gap of gapsOf(task, opts, running, { ...hooks, traced: output.diagnose !== undefined })) {
      const reported = reportGap(output, spec, gap, opts.list);
      if (reported === undefined) continue;
      stats.gaps += 1;
      await session.notify(reported);
      isOver = opts.first === true;
      if (isOver) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    monitor.end();
  }
  const done = session.completed.total + stats.done;
  const isComplete = done === space.length;
  await session.end({
    isComplete,
    isAnswered: isOver,
    ...(!isComplete && !isOver && { reason: 'stopped' }),
  });
  return conclude(call, task, session, engine, stats);
}

function gapsOf(
  { spec, crt, space }: SearchTask,
  opts: SearchOptions,
  running: GapSearchOptions,
  hooks: Required<Pick<GapFlowOptions, 'onPiece' | 'onPlan' | 'traced'>>,
): AsyncGenerator<Gap> {
  const { start } = spec;
  if (crt) {
    const { primes } = planOptionsOf(opts);
    const request = { ...crt, space, start, onPiece: hooks.onPiece, ...(primes !== undefined && { primes }) };
    return searchIntervals(request, running);
  }
  return searchGaps({ ...spec, space, ...planOptionsOf(opts), ...hooks }, running);
}

function conclude(
  call: Call<SearchOptions>,
  { crt, space }: SearchTask,
  session: JobSession<FoundGap>,
  engine: Engine,
  stats: SearchStats,
): CommandResult {
  const { output, signal, options: opts } = call;
  const { done, gaps, seconds, totals } = stats;
  const { ledger, completed } = session;
  const unit = crt ? 'intervals' : 'integers';
  const speed = rate(Number(done) / seconds, crt ? 'intervals' : 'int');
  const { tests, primes, windows, bytes } = totals;
  const speeds = `${speed}, ${rate(tests / seconds, 'tests')}`;
  output.say(output.stderrStyle.dim(`${count(done)} ${unit} in ${duration(seconds)}, ${speeds}`));
  stats.reportBatches(output, engine);
  const isStopped = signal.aborted && !(opts.first && gaps > 0);
  if (isStopped && ledger) {
    const share = percent(shareOf(completed.total + done, space.length));
    output.say(`stopped at ${share}; the same command resumes it (job ${ledger.id})`);
  }
  const exit: ExitCode = isStopped ? (call.stopped ?? Exit.stopped) : gaps > 0 ? Exit.ok : Exit.no;
  const answer = { gaps, [unit]: done, tests, primes, windows, bytes, streams: engine.streams, seconds };
  return { exit, answer: { ...(ledger && { job: ledger.id }), ...answer } };
}
