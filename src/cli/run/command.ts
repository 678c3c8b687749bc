import { once } from 'node:events';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { action, type Call } from '../../console/action.js';
import { Exit } from '../../console/exit.js';
import { type FeedingOptions, feedingOf, withFeedingOptions } from '../../console/feeding.js';
import { count, duration, percent, plural, rate } from '../../console/format.js';
import { type OpeningOptions, startOpening, withOpeningOptions } from '../../console/opening.js';
import { options, valued, wholeNumber } from '../../console/options.js';
import type { Ending, Output } from '../../console/output.js';
import { openProgress } from '../../console/progress.js';
import type { Device } from '../../device/device.js';
import { openDevices } from '../../device/registry.js';
import { Engine, endOf, type Hit, type Mode, type Range, type Search, search } from '../../engine/index.js';
import { rangeGiven } from '../../engine/source.js';
import { MillraceError } from '../../kernel/error.js';
import { columnsOf } from './columns.js';
import { inFile } from './module.js';
import { spaceGiven } from './space.js';
import { statusLine, Watch } from './status.js';
import { loadTask, type Task } from './task.js';
import { addParam, type Params } from './values.js';

/** `millrace run` */
export function runCommand(): Command {
  const command = new Command('run')
    .description('run a kernel of your own from one file; `millrace init` writes one to begin with')
    .argument('<file>', 'TypeScript or JavaScript whose default export is a kernel that emits hits')
    .addOption(valued('--space <n>', 'how many indices: 2^40, 1e12, 0x1000; or FROM:TO').argParser(spaceGiven))
    .addOption(
      valued('--mode <mode>', 'all hits in order, the first, any one, or all as they arrive (default: all)').choices([
        'all',
        'first',
        'any',
        'arrival',
      ]),
    )
    .addOption(
      valued('--param <name=value>', 'a job value of the kernel; may be given several times').argParser(
        (text, before: readonly string[] = []) => [...before, text],
      ),
    )
    .addOption(valued('--limit <n>', 'stop after so many hits').argParser(wholeNumber(1, Number.MAX_SAFE_INTEGER)))
    .addOption(options.devices().default('auto', 'the best there is'))
    .addHelpText('after', help);
  return withOpeningOptions(withFeedingOptions(command)).addOption(options.json()).action(action(run));
}

interface RunOptions extends OpeningOptions, FeedingOptions {
  readonly device: string;
  readonly space?: Range;
  readonly mode?: Mode;
  readonly param?: readonly string[];
  readonly limit?: number;
}

async function run({ output, options: given, args: [file = ''], signal }: Call<RunOptions>): Promise<Ending> {
  const path = resolve(file);
  const params = (given.param ?? []).reduce<Params>((before, text) => addParam(text, before), new Map());
  const task = await loadTask(path, params);
  const space = spaceOf(given, task, file);
  const { engine: fed, driver } = feedingOf(given);
  const opening = startOpening(given, output, driver);
  const devices = await openDevices(given.device, opening.options);
  try {
    for (const { info } of devices) output.event('device', { id: info.id, name: info.name });
    const engine = new Engine(devices, fed);
    try {
      await engine.prepare(task.kernel); // so that compiling is not part of the rate
      return await find({ output, given, task, space, engine, devices, signal });
    } finally {
      await engine.close();
      for (const device of devices) await opening.tell(device);
    }
  } catch (error) {
    throw inTask(path, error);
  } finally {
    await Promise.all(devices.map((device) => device.close()));
    opening.end();
  }
}

interface Finding {
  readonly output: Output;
  readonly given: RunOptions;
  readonly task: Task;
  readonly space: Range;
  readonly engine: Engine;
  readonly devices: readonly Device[];
  readonly signal: AbortSignal;
}

async function find({ output, given, task, space, engine, devices, signal }: Finding): Promise<Ending> {
  const { kernel, job, rest } = task;
  const mode = given.mode ?? task.mode ?? 'all';
  const limit = given.limit ?? Number.POSITIVE_INFINITY;
  const hits: Search<Hit> = search(kernel, { ...rest, engine, space, mode, job, signal });
  const columns = columnsOf(space, task.program.hit);
  const ticker = watch(output, hits, space, engine);
  const start = performance.now();
  let found = 0;
  try {
    for await (const hit of hits) {
      ticker.clear();
      if (found === 0) output.say(output.aside.dim(columns.heading));
      found++;
      const { index, ...fields } = hit;
      output.event('hit', { index, hit: fields });
      output.line(columns.line(hit));
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
      if (found >= limit) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ticker.end();
  }
  const seconds = (performance.now() - start) / 1000;
  // Stopped before it began, nothing is done; without a frontier, everything is.
  const { done, frontier } = hits.progress ?? { done: 0n, frontier: space.start };
  const where = devices.map(({ info: { id, name } }) => `${id} (${name})`).join(' and ');
  const figures = `${count(done)} tried in ${duration(seconds)}, ${rate(Number(done) / seconds, '')} on ${where}`;
  output.say(`${plural(found, 'hit')}; ${figures}${fedText(engine)}`);
  const answer = { hits: found, tried: done, seconds };
  const isAnswered = (mode === 'first' || mode === 'any') && found > 0;
  if (!signal.aborted || isAnswered || frontier === undefined) {
    const isCut = !isAnswered && found >= limit;
    return { exit: isCut ? Exit.limit : found > 0 ? Exit.ok : Exit.no, answer };
  }
  const left = `${frontier}:${endOf(space)}`;
  output.say(`stopped; all below ${count(frontier)} is done, go on with --space ${left}`);
  return { exit: Exit.stopped, answer: { ...answer, next: left } };
}

/** Shows how far a search is while it runs, and which devices it has lost. */
function watch(output: Output, hits: Search<Hit>, space: Range, engine: Engine): { clear(): void; end(): void } {
  const progress = openProgress(process.stderr, !output.json);
  const watching = new Watch(space.length);
  const lost = new Set<string>();
  let told = performance.now();
  const look = (): void => {
    const { devices } = engine;
    for (const { info, fault } of devices) {
      if (fault === undefined || lost.has(info.id)) continue;
      lost.add(info.id);
      progress.clear();
      output.event('lost', { device: info.id, code: fault.code, message: fault.message });
      output.say(`${output.aside.warn('warning:')} ${info.id} is not used any longer: ${fault.message}`);
    }
    const { done = 0n } = hits.progress ?? {};
    const status = watching.look(done, devices);
    progress.show(() => statusLine(status));
    if (performance.now() - told < EVENT_MS) return;
    told = performance.now();
    output.event('progress', { ...status });
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    clear: () => progress.clear(),
    end: () => {
      clearInterval(timer);
      look();
      progress.clear();
    },
  };
}

const LOOK_MS = 250;
/** Between two `progress` events. */
const EVENT_MS = 1000;

function fedText(engine: Engine): string {
  const shares = engine.devices.flatMap(({ info: { id }, fed }) => (fed === undefined ? [] : `${id} ${percent(fed)}`));
  return shares.length === 0 ? '' : `, fed ${shares.join(', ')}`;
}

function spaceOf(given: RunOptions, task: Task, file: string): Range {
  if (given.space === undefined && task.space === undefined) {
    throw new MillraceError({
      code: 'usage',
      message: 'nothing says how many indices to try',
      asked: `to run ${file}`,
      advice: 'give --space 2^32, or `space: 2n ** 32n` in the file',
    });
  }
  const space = given.space ?? rangeGiven(task.space ?? 0n);
  if (endOf(space) <= 1n << 64n || task.rest.chunk) return space;
  throw new MillraceError({
    code: 'usage',
    message: 'an index has 64 bits, the space has more',
    asked: `a space up to ${endOf(space)}`,
    advice: 'declare the upper bits as a chunk value, and export { kernel, chunk: ({ start }) => ({ … }) }',
  });
}

/** A kernel may be refused where it is compiled; an abort and what a device did are not the file's. */
const inTask = (path: string, error: unknown): unknown =>
  error instanceof MillraceError && error.code.startsWith('kernel-') ? inFile(path, error) : error;

const help = `
The file's default export is
  items(…) or tiles(…)               a kernel with hits, or
  { kernel, space, job, mode, … }    one and what its search needs: verify, chunk, buffers, canaries, or
  (params) => …                      a function of the parameters that gives one of them.
Numbers may be written 2^40, 1e12, 0xff, 1_000; lists with commas; a list of words also as one 0x….
Hits go to stdout, a line each. Exit status: 0 found, 1 none, 2 stopped by Ctrl-C, 4 --limit reached.`;
