import { once } from 'node:events';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { withEngine } from '../../console/command/engine.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { host } from '../../console/command/host.js';
import { isOnFleet } from '../../console/fleet/place.js';
import {
  type JobSession,
  type JobSessionOptions,
  openJobSession,
  withJobSessionOptions,
} from '../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor, withMonitorOptions } from '../../console/monitor/monitor.js';
import { type DeviceCommandOptions, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { type PipelineCommandOptions, withPipelineOptions } from '../../console/options/pipeline-options.js';
import { count, duration, percent, plural, rate } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { prepareKernels } from '../../console/output/preparation.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import type { Device } from '../../device/device.js';
import { unlessAborted } from '../../device/timeout.js';
import { needsChecks } from '../../engine/flow/checked.js';
import {
  type Aim,
  type Checked,
  type Engine,
  endOf,
  type Hit,
  type KernelPerDevice,
  type Range,
  type Search,
  type SearchMode,
  search,
} from '../../engine/index.js';
import { toRange } from '../../engine/work/source.js';
import { shareOf } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { columnsOf } from './columns.js';
import { reportExplanation, reportHotLines } from './explain-report.js';
import { identityOf } from './identity.js';
import { errorInFile, isCausedByFile } from './module.js';
import { playgroundCode } from './sources.js';
import { parseIndex, parseSpace } from './space.js';
import { loadTask, type Task } from './task.js';
import { paramsOf } from './values.js';

/** `millrace run` */
export function runCommand(): Command {
  const command = new Command('run')
    .description('run your own kernel from a file; `millrace init` writes an example')
    .argument('<file>', 'TypeScript or JavaScript file whose default export is a kernel that emits hits')
    .addOption(valueOption('--space <n>', 'number of indices: 2^40, 1e12, 0x1000; or FROM:TO').argParser(parseSpace))
    .addOption(
      valueOption('--mode <mode>', 'all hits in order, the first, any one, or all as they arrive')
        .choices(['all', 'first', 'any', 'arrival'])
        .default(undefined, 'all'),
    )
    .addOption(
      valueOption('--param <name=value>', 'set a job value of the kernel; may be repeated').argParser(
        (text, before: readonly string[] = []) => [...before, text],
      ),
    )
    .addOption(valueOption('--limit <n>', 'stop after n hits').argParser(wholeNumberParser(1, Number.MAX_SAFE_INTEGER)))
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(options.fleet())
    .addOption(flag('--no-checked', 'leave out the bounds checks of the first chunk'))
    .addOption(
      valueOption('--explain <index>', 'run one index on the interpreter and show the values of each line').argParser(
        parseIndex,
      ),
    )
    .addOption(flag('--hot', 'run a thousand indices on the interpreter and count the operations of each line'))
    .addHelpText('after', help);
  withJobSessionOptions(withTelemetryOptions(withMonitorOptions(withDeviceOptions(withPipelineOptions(command)))));
  command.action(action(run, { hasCheckpoints: true }));
  return withExamples(
    command,
    ['millrace run kernel.ts --space 2^32 --param bits=24', 'find all hits'],
    ['millrace run kernel.ts --mode first --device cuda:0,cpu', 'find the smallest index that hits'],
    ['millrace run kernel.ts --runtime 10m --max-temp 80 --json'],
    ['millrace run kernel.ts --on-hit ./notify.sh', 'start a program for each hit'],
    ['millrace run kernel.ts --explain 42', 'show what the kernel computes at index 42, line by line'],
  );
}

interface RunOptions
  extends DeviceCommandOptions,
    PipelineCommandOptions,
    MonitorOptions,
    TelemetryOptions,
    JobSessionOptions {
  readonly device: string;
  readonly fleet?: string | boolean;
  readonly space?: Range;
  readonly mode?: SearchMode;
  readonly param?: readonly string[];
  readonly limit?: number;
  readonly checked: boolean;
  readonly explain?: bigint;
  readonly hot?: boolean;
}

async function run(call: Call<RunOptions>): Promise<CommandResult> {
  const {
    options: given,
    args: [file = ''],
  } = call;
  const path = resolve(file);
  const task = await loadTask(path, paramsOf(given.param));
  const { explain } = given;
  if (explain !== undefined) return atWork(path, () => reportExplanation(call.output, task, explain));
  const space = spaceOf(given, task, file);
  if (given.hot) return atWork(path, () => reportHotLines(call.output, task, space));
  const about = { name: `run ${file}`, kernelName: task.kernel.name, hit: task.program.hit };
  const description = { command: 'run', space, ...about, ...identityOf(task, space) };
  const isFleet = isOnFleet(call, { checked: 'kernels of others always run with their bounds checks' });
  // A job of a fleet is in the ledger of its coordinator.
  const session = await openJobSession<Hit>(call, isFleet ? undefined : description);
  const mode = given.mode ?? task.mode ?? 'all';
  const job = { call, task, space, mode, limit: given.limit ?? Number.POSITIVE_INFINITY, session };
  try {
    if (isFleet) {
      const { runOnFleet } = await import('./on-fleet.js');
      return await runOnFleet({ ...job, print: hitPrinter(call.output, space, task).print });
    }
    const known = session.storedAnswer(mode, job.limit);
    return known ? await reportStored(job, known) : await runSearch(job);
  } catch (error) {
    const fault = errorInTask(path, error);
    await session.close(fault instanceof Error ? fault.message : String(fault));
    throw fault;
  } finally {
    await session.close();
  }
}

/** Returns what a body returns. An error that is the file's fault is thrown as that. */
function atWork<T>(path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw errorInTask(path, error);
  }
}

interface RunContext {
  readonly call: Call<RunOptions>;
  readonly task: Task;
  readonly space: Range;
  readonly mode: SearchMode;
  readonly limit: number;
  readonly session: JobSession<Hit>;
}

/** Reports what an earlier run has found, without opening a device. */
async function reportStored(
  { call, task, space, mode, limit, session }: RunContext,
  known: readonly Hit[],
): Promise<CommandResult> {
  const { output } = call;
  const { job } = session.ledger ?? {};
  const printer = hitPrinter(call.output, space, task);
  for (const hit of known) {
    await printer.print(hit);
    await session.notify(hit);
  }
  const isComplete = session.completed.total === space.length;
  const time = duration((job?.elapsedMs ?? 0) / 1000);
  const where = job?.devices.join(' and ');
  output.say(`${plural(known.length, 'hit')}, stored by an earlier run (${time} on ${where}); --fresh searches again`);
  await session.end({ isComplete, isAnswered: true });
  const answer = { job: job?.id, hits: known.length, tried: 0n, seconds: 0 };
  return { exit: searchExit(mode, known.length, limit), answer };
}

function runSearch(job: RunContext): Promise<CommandResult> {
  const { call, task } = job;
  const about = { name: `run ${task.kernel.name}`, unit: '' };
  return withEngine(call, about, async ({ engine, devices, aim, startTelemetry }) => {
    const { kernel } = task;
    const checked = checkedOf(job);
    const compile = { checked: true };
    const withChecks: KernelPerDevice = { name: kernel.name, on: async () => ({ kernel, compile }) };
    // The search compiles both builds. If this one fails, the search decides what that means.
    const isTwice = checked === 'first' && needsChecks(kernel);
    const trial = isTwice ? engine.prepare(withChecks).catch(() => undefined) : undefined;
    await prepareKernels(call.output, engine, [checked === true ? withChecks : kernel], call.signal);
    await unlessAborted(Promise.resolve(trial), call.signal);
    startTelemetry();
    return searchHits(job, engine, devices, aim);
  });
}

/** `--no-checked` takes precedence over the file. */
const checkedOf = ({ call, task }: RunContext): Checked =>
  call.options.checked ? (task.rest.checked ?? 'first') : false;

async function searchHits(
  running: RunContext,
  engine: Engine,
  devices: readonly Device[],
  aim?: Aim,
): Promise<CommandResult> {
  const { call, task, space, mode, limit, session } = running;
  const { output, options: given, signal } = call;
  const { kernel, job, rest } = task;
  const how = { ...rest, checked: checkedOf(running), ...(aim && { aim }), ...session.searchOptions };
  const hits: Search<Hit> = search(kernel, { ...how, engine, space, mode, job, signal });
  const printer = hitPrinter(output, space, task);
  let found = 0;
  const monitored = {
    name: kernel.name,
    unit: '',
    ...space,
    before: session.completed.total,
    progress: () => hits.progress,
    coverage: () => engine.coverage,
    devices: () => engine.devices,
    hits: () => found,
    code: playgroundCode(resolve(call.args[0] ?? '')),
    ...(task.chance !== undefined && { chance: task.chance }),
  };
  const monitor = startMonitor(output, given, monitored, session.controls(engine, call));
  session.listen(monitor);
  const start = performance.now();
  try {
    for await (const hit of hits) {
      found++;
      await printer.print(hit);
      await session.notify(hit);
      if (found >= limit) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    monitor.end();
  }
  const seconds = (performance.now() - start) / 1000;
  // If it was stopped before it started, nothing is done; without a frontier, everything is.
  const { done, frontier } = hits.progress ?? { done: 0n, frontier: space.start };
  const isAnswered = (mode === 'first' || mode === 'any') && found > 0;
  const isStopped = signal.aborted && !isAnswered && frontier !== undefined;
  await session.end({
    isComplete: frontier === undefined && !isAnswered,
    isAnswered,
    ...(isStopped && { reason: 'stopped' }),
  });
  const where = devices.map(({ info: { id, name } }) => `${id} (${name})`).join(' and ');
  const figures = `${count(done)} tried in ${duration(seconds)}, ${rate(Number(done) / seconds, '')} on ${where}`;
  output.say(`${plural(found, 'hit')}; ${figures}${fedText(engine)}`);
  const answer = { job: session.ledger?.id, hits: found, tried: done, seconds };
  if (!isStopped) return { exit: searchExit(mode, found, limit), answer };
  const exit = call.stopped ?? Exit.stopped;
  if (session.ledger) {
    const share = percent(shareOf(session.completed.total + done, space.length));
    output.say(`stopped at ${share}; the same command resumes from here (job ${session.ledger.id})`);
    return { exit, answer };
  }
  const left = `${frontier}:${endOf(space)}`;
  output.say(`stopped; everything below ${count(frontier)} is done, resume with --space ${left}`);
  return { exit, answer: { ...answer, next: left } };
}

function searchExit(mode: SearchMode, found: number, limit: number): ExitCode {
  const isAnswer = mode === 'first' || mode === 'any';
  return !isAnswer && found >= limit ? Exit.limit : found > 0 ? Exit.ok : Exit.no;
}

/** Returns a writer of hits, which writes the heading before the first. */
function hitPrinter(output: Output, space: Range, task: Task): { print(hit: Hit): Promise<void> } {
  const columns = columnsOf(space, task.program.hit);
  let isHeaded = false;
  return {
    print: async (hit) => {
      if (!isHeaded) output.say(output.stderrStyle.dim(columns.heading));
      isHeaded = true;
      const { index, ...fields } = hit;
      output.event('hit', { index, hit: fields });
      output.line(columns.line(hit));
      const { stdout } = host();
      if (stdout.writableNeedDrain) await once(stdout, 'drain');
    },
  };
}

function fedText(engine: Engine): string {
  const shares = engine.devices.flatMap(({ info: { id }, fed }) => (fed === undefined ? [] : `${id} ${percent(fed)}`));
  return shares.length === 0 ? '' : `, fed ${shares.join(', ')}`;
}

function spaceOf(given: RunOptions, task: Task, file: string): Range {
  if (given.space === undefined && task.space === undefined) {
    throw new MillraceError({
      code: 'usage',
      message: 'the number of indices is not given',
      asked: `to run ${file}`,
      advice: 'give --space 2^32, or `space: 2n ** 32n` in the file',
    });
  }
  const space = given.space ?? toRange(task.space ?? 0n);
  if (endOf(space) <= 1n << 64n || task.rest.chunk) return space;
  throw new MillraceError({
    code: 'usage',
    message: 'the space is larger than 2^64, and an index has 64 bits',
    asked: `a space up to ${endOf(space)}`,
    advice: 'declare the upper bits as a chunk value, and export { kernel, chunk: ({ start }) => ({ … }) }',
  });
}

/** Aborts and failures of devices are not the file's fault. */
const errorInTask = (path: string, error: unknown): unknown =>
  isCausedByFile(path, error) ? errorInFile(path, error) : error;

const help = `
The file's default export is one of
  items(…) or tiles(…)               a kernel that emits hits
  { kernel, space, job, mode, … }    a kernel and options of its search: verify, chunk, buffers, canaries
  (params) => …                      a function of the parameters that returns one of the above
Numbers can be written 2^40, 1e12, 0xff, 1_000; lists with commas; a list of words also as one 0x….
Hits go to stdout, one per line. Exit status: 0 found, 1 none, 2 stopped by Ctrl-C, 4 --limit or --runtime reached.`;
