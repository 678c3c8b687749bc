import { writeFileSync } from 'node:fs';
import { Argument, Command } from 'commander';
import { readBaseline, type Verdict, verdictsOf } from '../../bench/baseline.js';
import type { Benched, CaseOptions } from '../../bench/case.js';
import { type Machine, machine, machineLine } from '../../bench/machine.js';
import { compare, LEAST_RUNS } from '../../bench/measure.js';
import { plotOf } from '../../bench/plot.js';
import {
  comparisonTable,
  figureFields,
  figureRow,
  markdownOf,
  measurementFields,
  SUITE_HEADING,
  SUITE_RIGHT,
} from '../../bench/report.js';
import { type Figure, isFigure, type NoFigure, runSuite } from '../../bench/suite.js';
import { action, type Call } from '../../console/action.js';
import { withExamples } from '../../console/conventions.js';
import { Exit, type ExitCode } from '../../console/exit.js';
import { duration, percent, plural, rate } from '../../console/format.js';
import { type OpeningOptions, startOpening, withOpeningOptions } from '../../console/opening.js';
import { flag, options, valued, wholeNumber } from '../../console/options.js';
import type { Ending, Output } from '../../console/output.js';
import { table } from '../../console/table.js';
import { version } from '../../console/version.js';
import type { Device } from '../../device/device.js';
import { openDevice, openDevices } from '../../device/registry.js';
import { MillraceError } from '../../kernel/error.js';
import { benched } from '../../workload/cases.js';
import { tellScaling } from './scaling.js';

/** `millrace bench`, by its whole name `millrace bench all` */
export function suiteCommand(): Command {
  const command = new Command('all')
    .description('every workload on the devices, in short: checked results, limits of the hardware beside them')
    .addArgument(new Argument('[workload...]', 'which; default all').choices(benched.map(({ workload }) => workload)))
    .addOption(options.devices().default('auto', 'the best there is'))
    .addOption(
      valued('--runs <n>', `runs that count, ${LEAST_RUNS} or more`)
        .argParser(wholeNumber(LEAST_RUNS, 1000))
        .default(LEAST_RUNS),
    )
    .addOption(flag('--full', 'also what takes minutes'))
    .addOption(flag('--peers', 'then others who do the same work, those installed, in turn with ours on the CPU'))
    .addOption(flag('--scaling', 'then cost against work over four decades, and one device against several'))
    .addOption(valued('--save <file>', 'all figures as JSON, to compare with later'))
    .addOption(valued('--markdown <file>', 'the table as Markdown, with the machine and the date'))
    .addOption(valued('--plot <file>', 'a picture of it, SVG'))
    .addOption(valued('--compare <file>', 'saved figures: exit status 1 where one has lost more than a tenth'));
  withOpeningOptions(command).action(action(suite));
  return withExamples(
    command,
    ['millrace bench', 'the best device, all workloads, within two minutes'],
    ['millrace bench all block words --device cuda,cpu', 'two of them, side by side'],
    ['millrace bench --peers', 'OpenSSL, mp64, crunch, GMP and others beside'],
    ['millrace bench --save then.json; millrace bench --compare then.json', 'has anything become slower?'],
  );
}

interface SuiteCommandOptions extends OpeningOptions {
  readonly device: string;
  readonly runs: number;
  readonly full?: boolean;
  readonly peers?: boolean;
  readonly scaling?: boolean;
  readonly save?: string;
  readonly markdown?: string;
  readonly plot?: string;
  readonly compare?: string;
}

/** About how long one run takes: seven of them and what comes before stay far below two minutes for all workloads. */
const RUN_SECONDS = 0.4;

async function suite({ output, options: given, args, signal }: Call<SuiteCommandOptions>): Promise<Ending> {
  const asked = (args[0] ?? []) as unknown as readonly string[];
  const wanted = benched.filter(({ workload }) => asked.length === 0 || asked.includes(workload));
  const baseline = given.compare === undefined ? undefined : readBaseline(given.compare);
  const begun = performance.now();
  const opening = startOpening(given, output, { completion: 'poll' });
  const devices = await openDevices(given.device, opening.options);
  try {
    const host = machine(devices.map(({ info }) => info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    for (const { info } of devices) output.line(`${info.id}: ${info.name}`);
    output.line();
    const all: (Figure | NoFigure)[] = [];
    const how = { runs: given.runs, seconds: RUN_SECONDS, isFull: given.full === true };
    for await (const one of runSuite(wanted, devices, how)) {
      signal.throwIfAborted();
      all.push(one);
      tellFigure(output, one);
    }
    const figures = all.filter(isFigure);
    output.line();
    for (const line of table([SUITE_HEADING, ...figures.map(figureRow)], { right: SUITE_RIGHT })) output.line(line);
    output.line(`\n${plural(figures.length, 'figure')} in ${duration((performance.now() - begun) / 1000)}`);
    keep(given, host, all);
    if (given.peers) await sideBySide(output, wanted, devices, how);
    const scaling = given.scaling ? await tellScaling(output, wanted, devices) : [];
    if (given.plot !== undefined) {
      const title = `Millrace ${version()}, ${today()}, ${machineLine(host)}`;
      write(given.plot, plotOf({ title, figures, scaling }), '--plot');
    }
    const verdicts = baseline ? verdictsOf(figures, nameIn(devices), baseline) : [];
    if (baseline) tellVerdicts(output, verdicts);
    for (const device of devices) await opening.tell(device);
    return { exit: exitOf(all, verdicts), answer: { figures: figures.length } };
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** On a CPU's device: what others run on. */
async function sideBySide(
  output: Output,
  wanted: readonly Benched[],
  devices: readonly Device[],
  options: CaseOptions,
): Promise<void> {
  const own = devices.find(({ info }) => info.kind === 'native' || info.kind === 'wasm');
  const device = own ?? (await openDevice('cpu'));
  try {
    for (const { workload, peers } of wanted) {
      if (!peers) continue;
      const { title, candidates, absent, close } = await peers(device, options);
      try {
        const comparison = await compare(candidates);
        output.line(`\n${output.style.bold(`${workload}: ${title}`)}`);
        for (const line of comparisonTable(comparison)) output.line(line);
        for (const [at, one] of comparison.measurements.entries()) {
          output.event('measurement', { ...measurementFields(one), ratio: comparison.ratios[at] });
        }
        if (absent.length > 0) output.line(`not installed: ${absent.join(', ')}`);
      } finally {
        await close();
      }
    }
  } finally {
    if (!own) await device.close();
  }
}

const nameIn =
  (devices: readonly Device[]) =>
  (id: string): string | undefined =>
    devices.find(({ info }) => info.id === id)?.info.name;

function exitOf(all: readonly (Figure | NoFigure)[], verdicts: readonly Verdict[]): ExitCode {
  if (all.some((one) => !isFigure(one) && one.isWrong)) return Exit.deviceWrong;
  return verdicts.some(({ isLost }) => isLost) ? Exit.no : Exit.ok;
}

/** As soon as it is known: the table comes when all are. */
function tellFigure(output: Output, one: Figure | NoFigure): void {
  figureEvent(output, one);
  const told = isFigure(one) ? rate(one.rate.median, one.unit) : `no figure: ${one.reason}`;
  output.say(`${one.workload} on ${one.device}: ${one.name}: ${told}`);
}

export function figureEvent(output: Output, one: Figure | NoFigure): void {
  if (isFigure(one)) output.event('figure', figureFields(one));
  else output.event('no-figure', { ...one });
}

function tellVerdicts(output: Output, verdicts: readonly Verdict[]): void {
  if (verdicts.length === 0) {
    output.warn('the saved figures are of other devices or other work: nothing to compare');
    return;
  }
  output.line(`\n${output.style.bold('Against the saved figures')}`);
  const rows = verdicts.map((one) => {
    output.event('verdict', { ...one });
    const told = one.isLost ? output.style.bad('LOST') : output.style.good('kept');
    return [one.workload, one.name, one.device, `${one.ratio.toFixed(2)}×`, told];
  });
  for (const line of table(rows, { right: [3] })) output.line(line);
  const lost = verdicts.filter(({ isLost }) => isLost).length;
  if (lost > 0) output.line(`${plural(lost, 'figure')} lost more than ${percent(0.1)}, beyond both spreads`);
}

function keep({ save, markdown }: SuiteCommandOptions, host: Machine, all: readonly (Figure | NoFigure)[]): void {
  const date = today();
  const figures = all.filter(isFigure);
  if (save !== undefined) write(save, `${JSON.stringify({ date, machine: host, figures }, null, 2)}\n`, '--save');
  if (markdown !== undefined) write(markdown, `${markdownOf(date, host, all)}\n`, '--markdown');
}

const today = (): string => new Date().toISOString().slice(0, 10);

function write(path: string, text: string, asked: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `${path} cannot be written: ${(cause as Error).message}`,
      asked: `${asked} ${path}`,
      advice: 'name a file in a folder of your own',
    });
  }
}
