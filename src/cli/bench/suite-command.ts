import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Argument, Command } from 'commander';
import { committedBaselines, type Verdict, verdictsOf } from '../../bench/baseline.js';
import type { WorkloadBench } from '../../bench/case.js';
import { MAX_LOSS } from '../../bench/frozen/gate.js';
import { machine, machineLine } from '../../bench/machine.js';
import { DEFAULT_RUNS, MIN_RUNS } from '../../bench/measure.js';
import { figureFields, figureRow, markdownOf, SUITE_HEADING, SUITE_RIGHT } from '../../bench/report.js';
import { readSaved, type SavedReport } from '../../bench/saved.js';
import { type Figure, isFigure, type NoFigure, runSuite } from '../../bench/suite.js';
import { middleChunks, type Timeline } from '../../bench/timeline.js';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { host } from '../../console/command/host.js';
import { buildVersion } from '../../console/command/version.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { duration, percent, plural, rate } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { table } from '../../console/output/table.js';
import type { Device } from '../../device/device.js';
import { openDevices } from '../../device/registry.js';
import { MillraceError } from '../../kernel/error.js';
import { benchedWorkloads } from '../../workload/cases.js';
import { comparePeers } from './peers.js';
import { measureScaling } from './scaling.js';

/** `millrace bench`, in full `millrace bench all` */
export function suiteCommand(): Command {
  const command = new Command('all')
    .description('measure every workload on the devices: checked results, next to hardware limits')
    .addArgument(
      new Argument('[workload...]', 'workloads to measure; default: all').choices(
        benchedWorkloads.map(({ workload }) => workload),
      ),
    )
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(
      valueOption('--runs <n>', `measured runs, ${MIN_RUNS} or more`)
        .argParser(wholeNumberParser(MIN_RUNS, 1000))
        .default(DEFAULT_RUNS),
    )
    .addOption(flag('--full', 'include cases that take minutes'))
    .addOption(flag('--peers', 'also measure installed programs that do the same work, in turn with ours'))
    .addOption(flag('--scaling', 'also measure cost against work over four decades, and one device against several'))
    .addOption(valueOption('--save <file>', 'write all figures as JSON, for --compare'))
    .addOption(valueOption('--markdown <file>', 'write the table as Markdown, with the machine and the date'))
    .addOption(
      valueOption(
        '--compare [file]',
        'compare with saved figures; exit status 1 if one is slower, beyond chance',
      ).preset(COMMITTED),
    );
  withDeviceOptions(command).action(action(suite));
  return withExamples(
    command,
    ['millrace bench', 'all workloads on the best device, within two minutes'],
    ['millrace bench block words --device cuda,cpu', 'two workloads on two devices'],
    ['millrace bench --peers', 'next to OpenSSL, mp64, crunch, GMP, NumPy and others'],
    ['millrace bench --save then.json; millrace bench --compare then.json', 'has anything become slower?'],
    ['millrace bench --compare', 'against the figures in the repository, if they include this device'],
  );
}

/** The value if no file is named: the reports of the repository. */
const COMMITTED = 'those of the repository';

interface SuiteCommandOptions extends DeviceCommandOptions {
  readonly device: string;
  readonly runs: number;
  readonly full?: boolean;
  readonly peers?: boolean;
  readonly scaling?: boolean;
  readonly save?: string;
  readonly markdown?: string;
  readonly compare?: string;
}

/** Approximate time of one run: seven runs and the preparation stay far below two minutes for all workloads. */
const RUN_SECONDS = 0.4;
/** Figures that are compared statistically later need more runs. */
const COMPARED_RUNS = 11;

async function suite({ output, options: given, args, signal }: Call<SuiteCommandOptions>): Promise<CommandResult> {
  const names = (args[0] ?? []) as unknown as readonly string[];
  const selected = benchedWorkloads.filter(({ workload }) => names.length === 0 || names.includes(workload));
  const { compare } = given;
  const baselines = compare === undefined ? [] : compare === COMMITTED ? committedBaselines() : [readSaved(compare)];
  const start = performance.now();
  const opening = setUpDevices(given, output, { completion: 'poll' });
  const devices = await openDevices(given.device, opening.options);
  try {
    const host = machine(devices.map(({ info }) => info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    for (const { info } of devices) output.line(`${info.id}: ${info.name}`);
    output.line();
    const all: (Figure | NoFigure)[] = [];
    const isCompared = given.save !== undefined || compare !== undefined;
    const how = {
      runs: isCompared ? Math.max(given.runs, COMPARED_RUNS) : given.runs,
      seconds: RUN_SECONDS,
      isFull: given.full === true,
    };
    for await (const one of runSuite(selected, devices, how)) {
      signal.throwIfAborted();
      all.push(one);
      printFigure(output, one);
      if (given.save !== undefined) saveReport({ save: given.save }, reportOf(host, all));
    }
    const figures = all.filter(isFigure);
    output.line();
    for (const line of table([SUITE_HEADING, ...figures.map(figureRow)], { right: SUITE_RIGHT })) output.line(line);
    output.line(`\n${plural(figures.length, 'figure')} in ${duration((performance.now() - start) / 1000)}`);
    let report = reportOf(host, all);
    saveReport(given, report);
    if (given.save !== undefined) report = { ...report, timelines: await timelinesOf(selected, devices) };
    if (given.peers) report = { ...report, peers: await comparePeers(output, selected, devices, how) };
    if (given.scaling) report = { ...report, ...(await measureScaling(output, selected, devices)) };
    saveReport(given, report);
    const verdicts = verdictsOf(figures, host.devices, baselines);
    if (compare !== undefined) printVerdicts(output, verdicts);
    for (const device of devices) await opening.reportApiCalls(device);
    return { exit: suiteExit(all, verdicts), answer: { figures: figures.length } };
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** Returns a report with figures only: the other parts take longer. */
function reportOf(host: SavedReport['machine'], all: readonly (Figure | NoFigure)[]): SavedReport {
  const missing = all.filter((one): one is NoFigure => !isFigure(one));
  const nothing = { peers: [], scaling: [], several: [], timelines: [] };
  return { ...reportHeader(), machine: host, figures: all.filter(isFigure), missing, ...nothing };
}

/** Returns some chunks of a job on each device, for workloads that provide a timeline. */
async function timelinesOf(selected: readonly WorkloadBench[], devices: readonly Device[]): Promise<Timeline[]> {
  const all: Timeline[] = [];
  for (const { workload, timeline } of selected) {
    for (const device of timeline ? devices : []) {
      const chunks = middleChunks((await timeline?.(device)) ?? []);
      if (chunks.length > 0) all.push({ workload, device: device.info.id, chunks });
    }
  }
  return all;
}

function suiteExit(all: readonly (Figure | NoFigure)[], verdicts: readonly Verdict[]): ExitCode {
  if (all.some((one) => !isFigure(one) && one.isWrong)) return Exit.deviceWrong;
  return verdicts.some(({ isLost }) => isLost) ? Exit.no : Exit.ok;
}

/** Prints a figure as soon as it is known; the table follows when all are. */
function printFigure(output: Output, one: Figure | NoFigure): void {
  figureEvent(output, one);
  const text = isFigure(one) ? rate(one.rate.median, one.unit) : `no figure: ${one.reason}`;
  output.say(`${one.workload} on ${one.device}: ${one.name}: ${text}`);
}

export function figureEvent(output: Output, one: Figure | NoFigure): void {
  if (isFigure(one)) output.event('figure', figureFields(one));
  else output.event('no-figure', { ...one });
}

function printVerdicts(output: Output, verdicts: readonly Verdict[]): void {
  if (verdicts.length === 0) {
    output.warn('the saved figures are of other devices or other work: nothing to compare');
    return;
  }
  output.line(`\n${output.style.bold('Against the saved figures')}`);
  const rows = verdicts.map((one) => {
    output.event('verdict', { ...one });
    const verdict = one.isLost ? output.style.bad('LOST') : output.style.good('kept');
    return [one.workload, one.name, one.device, `${one.ratio.toFixed(2)}×`, verdict];
  });
  for (const line of table(rows, { right: [3] })) output.line(line);
  const lost = verdicts.filter(({ isLost }) => isLost).length;
  if (lost > 0) output.line(`${plural(lost, 'figure')} lost more than ${percent(MAX_LOSS)}, beyond chance`);
}

/**
 * Saves the report: after each figure, before the long parts, and after them, so that a forced end leaves the figures.
 */
function saveReport({ save, markdown }: Pick<SuiteCommandOptions, 'save' | 'markdown'>, report: SavedReport): void {
  const { date, machine: host, figures, missing } = report;
  if (save !== undefined) write(save, `${JSON.stringify(report, null, 2)}\n`, '--save');
  if (markdown !== undefined) write(markdown, `${markdownOf(date, host, [...figures, ...missing])}\n`, '--markdown');
}

/** Describes what made the report. Only file names are included: their folders are private. */
function reportHeader(): Pick<SavedReport, 'version' | 'date' | 'command'> {
  const args = host().args.map((arg) => (arg.includes('/') ? basename(arg) : arg));
  return {
    version: buildVersion(),
    date: new Date().toISOString().slice(0, 10),
    command: ['millrace', ...args].join(' '),
  };
}

function write(path: string, text: string, asked: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write ${path}: ${(cause as Error).message}`,
      asked: `${asked} ${path}`,
      advice: 'name a file in a writable folder',
    });
  }
}
