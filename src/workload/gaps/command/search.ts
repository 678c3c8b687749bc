import type { Call } from '../../../console/command/action.js';
import { withEngine } from '../../../console/command/engine.js';
import { Exit, type ExitCode } from '../../../console/command/exit.js';
import { type Booking, type BookingOptions, openBooking } from '../../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor } from '../../../console/monitor/monitor.js';
import type { OpeningOptions } from '../../../console/options/device-options.js';
import type { FeedingOptions } from '../../../console/options/pipeline-options.js';
import { age, count, duration, percent, plural, rate } from '../../../console/output/format.js';
import type { Ending } from '../../../console/output/output.js';
import type { TelemetryOptions } from '../../../console/telemetry/options.js';
import type { Device } from '../../../device/device.js';
import { between, Engine, type EngineOptions } from '../../../engine/index.js';
import { Recorder } from '../../../engine/telemetry/record.js';
import { shareOf } from '../../../engine/work/space.js';
import { type ChineseSet, type Intervals, intervalsOf, readChineseSet } from '../job/chinese-set.js';
import { Figures, type Odds } from '../job/figures.js';
import type { FoundGap, GapFlowOptions, PieceWork } from '../job/flow.js';
import { emptyChance, knownIntervals, searchIntervals } from '../job/interval-search.js';
import { type Gap, knownGaps, type Running, searchGaps } from '../job/search.js';
import type { Plan } from '../kernel/plan.js';
import { bitsOf } from '../kernel/reference.js';
import { type GivenNumbers, type Wanted, wantedOf } from './given.js';
import { feedingGiven, type PlanGiven, planGiven, warnWithoutGpu } from './plan-options.js';
import { diagnosePiece, diagnosePlan, diagnoseStreams, tellGap } from './tell.js';

export interface SearchOptions
  extends GivenNumbers,
    OpeningOptions,
    FeedingOptions,
    MonitorOptions,
    TelemetryOptions,
    BookingOptions,
    PlanGiven {
  readonly device: string;
  readonly crt?: string;
  readonly first?: boolean;
  readonly list?: string;
}

/** The search: everything in a range, or the intervals of a set. */
interface Task {
  readonly wanted: Wanted;
  readonly crt: { readonly set: ChineseSet; readonly intervals: Intervals } | undefined;
  readonly space: { readonly start: bigint; readonly length: bigint };
  readonly odds: Odds;
}

/** `millrace gaps search` */
export async function find(call: Call<SearchOptions>): Promise<Ending> {
  const task = taskOf(call.options);
  const booking = await openBooking<FoundGap>(call, bookedAs(task));
  try {
    const known = booking.answer('all');
    return known ? await recall(call, task, booking, known) : await work(call, task, booking);
  } catch (error) {
    await booking.close(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    await booking.close();
  }
}

function taskOf(given: SearchOptions): Task {
  const set = given.crt === undefined ? undefined : readChineseSet(given.crt);
  const wanted = wantedOf(given, set?.primorial);
  const logarithm = bitsOf(wanted.start) * Math.LN2;
  const what = wanted.work ? 'a block' : 'a gap';
  if (set) {
    const { offset = 0n } = given;
    const intervals = intervalsOf(set, wanted, wanted.leastGap, offset);
    const chance = emptyChance(set, intervals);
    const space = between(offset, intervals.count);
    const odds = { logarithm, chance, perIndex: Number(set.primorial), indices: Number(space.length), what };
    return { wanted, crt: { set, intervals }, space, odds };
  }
  // One number in ln p is prime, and e^−merit of the primes begin a gap of that merit.
  const chance = Math.exp(-wanted.leastGap / logarithm) / logarithm;
  const space = between(wanted.skipped, wanted.length);
  const odds = { logarithm, chance, perIndex: 1, indices: Number(space.length), what };
  return { wanted, crt: undefined, space, odds };
}

/** The job's identity in the ledger: everything that the answer depends on. Primes and window sizes do not matter. */
function bookedAs({ wanted: { start, leastGap }, crt, space }: Task) {
  const set = crt && { primorial: crt.set.primorial, first: crt.intervals.first, length: crt.intervals.length };
  return {
    command: 'gaps search',
    name: `gaps of ${leastGap} or more`,
    params: { start, leastGap, ...(set && { set }) },
    kernel: 'gaps 1',
    space,
  };
}

/** Reports the gaps of earlier runs, without opening a device. */
async function recall(
  { output, options: given }: Call<SearchOptions>,
  { wanted, crt }: Task,
  booking: Booking<FoundGap>,
  known: readonly FoundGap[],
): Promise<Ending> {
  const found = crt ? knownIntervals(crt.intervals, wanted.start, known) : knownGaps(wanted.start, known);
  let gaps = 0;
  for await (const gap of found) {
    const told = tellGap(output, wanted, gap, given.list);
    if (told === undefined) continue;
    gaps += 1;
    await booking.told(told);
    if (given.first) break;
  }
  const { before, id } = booking.ledger ?? {};
  output.say(
    `${plural(gaps, 'gap')}; known since ${age(Date.now() - (before?.activeMs ?? 0))} ago; --fresh searches again`,
  );
  await booking.end({ isComplete: true });
  return { exit: gaps > 0 ? Exit.ok : Exit.no, answer: { ...(id !== undefined && { job: id }), gaps, seconds: 0 } };
}

function work(call: Call<SearchOptions>, task: Task, booking: Booking<FoundGap>): Promise<Ending> {
  const { output, options: given } = call;
  let records = new Recorder(1);
  const setup = {
    name: 'gaps search',
    unit: 'int',
    feeding: feedingGiven(given),
    make: (devices: readonly Device[], options: EngineOptions) => {
      warnWithoutGpu(given, output, devices);
      if (options.records instanceof Recorder) records = options.records;
      return new Engine(devices, { ...options, records });
    },
  };
  return withEngine(call, setup, async ({ engine, devices, watch }) => {
    watch();
    await diagnoseStreams(output, devices, engine.streams);
    return search(call, task, booking, engine, new Figures(task.odds, records));
  });
}

async function search(
  call: Call<SearchOptions>,
  task: Task,
  booking: Booking<FoundGap>,
  engine: Engine,
  figures: Figures,
): Promise<Ending> {
  const { output, options: given, signal } = call;
  const { wanted, space, odds } = task;
  let isOver = false;
  const watched = {
    name: task.crt ? 'intervals without a prime' : `gaps of ${wanted.leastGap} or more`,
    unit: task.crt ? 'intervals' : 'int',
    length: space.length,
    before: booking.completed.total,
    progress: () => ({ done: figures.done, held: figures.held }),
    devices: () => engine.devices,
    hits: () => figures.gaps,
    ...(given.first && { chance: odds.chance }),
    notes: () => figures.notes(),
  };
  const monitor = startMonitor(output, given, watched, booking.controls(engine, call));
  booking.listen(monitor);
  const running: Running = {
    engine,
    signal,
    onProgress: ({ done, held }) => {
      figures.done = done;
      figures.held = held;
    },
    ...booking.search,
  };
  try {
    const heard = {
      onPiece: (one: PieceWork) => {
        figures.piece(one);
        if (!task.crt) diagnosePiece(output, wanted, one);
      },
      onPlan: (device: Device, plan: Plan) => diagnosePlan(output, device, plan),
    };
    for await (const gap of gapsOf(task, given, running, { ...heard, traced: output.diagnose !== undefined })) {
      const told = tellGap(output, wanted, gap, given.list);
      if (told === undefined) continue;
      figures.gaps += 1;
      await booking.told(told);
      isOver = given.first === true;
      if (isOver) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    monitor.end();
  }
  const done = booking.completed.total + figures.done;
  const isComplete = done === space.length;
  await booking.end({
    isComplete,
    isAnswered: isOver,
    ...(!isComplete && !isOver && { reason: 'stopped' }),
  });
  return conclude(call, task, booking, engine, figures);
}

function gapsOf(
  { wanted, crt, space }: Task,
  given: SearchOptions,
  running: Running,
  heard: Required<Pick<GapFlowOptions, 'onPiece' | 'onPlan' | 'traced'>>,
): AsyncGenerator<Gap> {
  const { start } = wanted;
  if (crt) {
    const { primes } = planGiven(given);
    const request = { ...crt, space, start, onPiece: heard.onPiece, ...(primes !== undefined && { primes }) };
    return searchIntervals(request, running);
  }
  return searchGaps({ ...wanted, space, ...planGiven(given), ...heard }, running);
}

function conclude(
  call: Call<SearchOptions>,
  { crt, space }: Task,
  booking: Booking<FoundGap>,
  engine: Engine,
  figures: Figures,
): Ending {
  const { output, signal, options: given } = call;
  const { done, gaps, seconds, sum } = figures;
  const { ledger, completed } = booking;
  const what = crt ? 'intervals' : 'integers';
  const speed = rate(Number(done) / seconds, crt ? 'intervals' : 'int');
  output.say(output.aside.dim(`${count(done)} ${what} in ${duration(seconds)}, ${speed}`));
  figures.tellBatches(output, engine);
  const isStopped = signal.aborted && !(given.first && gaps > 0);
  if (isStopped && ledger) {
    const share = percent(shareOf(completed.total + done, space.length));
    output.say(`stopped at ${share}; the same command goes on from here (job ${ledger.id})`);
  }
  const exit: ExitCode = isStopped ? (call.stopped ?? Exit.stopped) : gaps > 0 ? Exit.ok : Exit.no;
  const { tests, primes, windows, bytes } = sum;
  const answer = { gaps, [what]: done, tests, primes, windows, bytes, streams: engine.streams, seconds };
  return { exit, answer: { ...(ledger && { job: ledger.id }), ...answer } };
}
