import { Argument, Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../console/options/device-options.js';
import { flag, options, valueOption } from '../console/options/options.js';
import { parseSeconds } from '../console/options/quantity.js';
import { duration, percent, plural, rate } from '../console/output/format.js';
import type { CommandResult, Output } from '../console/output/output.js';
import { table } from '../console/output/table.js';
import type { Device } from '../device/device.js';
import { median } from '../device/median.js';
import { openDevices } from '../device/registry.js';
import { settingText, type Tunable, type TuningRecord, tune } from '../engine/tune/tune.js';
import { saveTuning, setTuningStore, tuningFor } from '../engine/tune/tuning-store.js';
import { LedgerTunings } from '../store/client/tunings.js';
import { tunables } from '../workload/tunables.js';

/** `millrace tune`; with `only`, the same for one workload as a subcommand of that workload. */
export function tuneCommand(only?: string): Command {
  const names = tunables.map(({ name }) => name);
  const command = new Command('tune').description(
    only === undefined
      ? 'measure which settings are fastest for workloads on devices, and store them for jobs'
      : `measure which settings are fastest for ${only} on devices, and store them: \`millrace tune ${only}\``,
  );
  if (only === undefined)
    command.addArgument(new Argument('[workload...]', 'workloads to tune; default: all').choices(names));
  command
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(options.dataDir())
    .addOption(flag('--show', 'show stored settings with every timing; measure nothing').conflicts(['reset', 'retune']))
    .addOption(flag('--reset', 'delete stored settings; measure nothing').conflicts('retune'))
    .addOption(flag('--retune', 'measure again even if settings are stored'))
    .addOption(
      valueOption('--budget <time>', 'time limit for each workload on each device')
        .argParser(parseSeconds)
        .default(BUDGET_S, '5m'),
    );
  withDeviceOptions(command).action(action((call: Call<TuneCommandOptions>) => runTune(call, only)));
  if (only !== undefined) return withExamples(command, [`millrace ${only} tune --device cuda,cpu`, 'on two devices']);
  return withExamples(
    command,
    ['millrace tune', 'all workloads on the best device'],
    ['millrace tune block --device cuda,cpu --retune', 'again, with all candidates'],
    ['millrace tune --show', 'the settings that jobs use now, and why'],
  );
}

const BUDGET_S = 300;

interface TuneCommandOptions extends DeviceCommandOptions {
  readonly device: string;
  readonly dataDir: string;
  readonly show?: boolean;
  readonly reset?: boolean;
  readonly retune?: boolean;
  readonly budget: number;
}

async function runTune(call: Call<TuneCommandOptions>, only?: string): Promise<CommandResult> {
  const { output, options: given, args } = call;
  const names = only === undefined ? ((args[0] ?? []) as unknown as readonly string[]) : [only];
  const selected = tunables.filter(({ name }) => names.length === 0 || names.includes(name));
  setTuningStore(new LedgerTunings(given.dataDir, { warn: output.warn }));
  const opening = setUpDevices(given, output);
  const devices = await openDevices(given.device, opening.options);
  let tuned = 0;
  try {
    for (const device of devices) {
      output.event('device', { id: device.info.id, name: device.info.name });
      for (const tunable of selected) {
        const isMeasured = await tuneWorkload(call, device, tunable);
        if (isMeasured) tuned++;
      }
      await opening.reportApiCalls(device);
    }
    return { exit: Exit.ok, answer: { tuned } };
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** Tunes one workload on one device. Returns whether it was measured. */
async function tuneWorkload(
  { output, options: given, signal }: Call<TuneCommandOptions>,
  device: Device,
  tunable: Tunable,
): Promise<boolean> {
  const what = `${output.style.bold(tunable.name)} on ${device.info.id}`;
  if (given.reset) {
    await saveTuning(device, tunable, undefined);
    output.line(`${what}: stored settings deleted`);
    return false;
  }
  const known = await tuningFor(device, tunable);
  if (given.show) {
    if (known) printTuning(output, device, tunable, known, true);
    else output.line(`${what}: nothing is stored`);
    return false;
  }
  if (known?.isWhole && !given.retune) {
    printTuning(output, device, tunable, known, true);
    output.say('stored earlier; --retune measures again');
    return false;
  }
  if (tunable.axes(device.info).length === 0) {
    output.line(`${what}: nothing to tune`);
    return false;
  }
  const start = performance.now();
  const record = await withTuningProgress(output, (onProgress) =>
    tune(device, tunable, { seconds: given.budget, signal, onProgress }),
  );
  await saveTuning(device, tunable, record);
  printTuning(output, device, tunable, record, false);
  output.say(`measured in ${duration((performance.now() - start) / 1000)}`);
  if (!record.isWhole) output.warn(`not all candidates were measured in ${duration(given.budget)}; raise --budget`);
  return true;
}

async function withTuningProgress<T>(
  output: Output,
  work: (onStep: (step: { axis: string; round: number; candidates: number }) => void) => Promise<T>,
): Promise<T> {
  try {
    return await work(({ axis, round, candidates }) => {
      output.event('tuning', { axis, round, candidates });
      output.explain(`${axis}: round ${round}, ${plural(candidates, 'candidate')}`);
      if (output.live.isEnabled) output.live.show([`${axis}  round ${round}  ${plural(candidates, 'candidate')}`]);
    });
  } finally {
    output.live.clear();
  }
}

/** Prints a line for the chosen setting, then a table for each axis. */
function printTuning(output: Output, { info }: Device, tunable: Tunable, record: TuningRecord, isKnown: boolean): void {
  const { setting, gain, rate: perSecond, unit, isWhole, axes } = record;
  output.event('tuned', {
    device: info.id,
    workload: tunable.name,
    isKnown,
    isWhole,
    unit,
    rate: perSecond,
    setting,
    gain,
    axes,
  });
  const by = Object.keys(setting).length === 0 ? 'nothing was better' : `${percent(gain - 1)} faster than untuned`;
  output.line(
    `${output.style.bold(tunable.name)} on ${info.id}: ${settingText(setting)} (${by}), ${rate(perSecond, unit)}`,
  );
  for (const axis of axes) {
    output.line(
      `\n  ${axis.name}, ${plural(axis.rounds, 'round')} by ${axis.measured === 'job' ? 'jobs' : 'launches'}`,
    );
    const rows = axis.candidates.map(({ name, samples, gain: ratio, unfit, discarded }, at) => {
      const middle = median(samples.map(([work, took]) => work / took));
      const fate =
        unfit ??
        (discarded === undefined
          ? at === axis.winner
            ? 'best'
            : ''
          : `discarded after ${plural(discarded, 'round')}`);
      return [
        name,
        samples.length === 0 ? '' : rate(middle, unit),
        ratio === undefined ? '' : ratio.toFixed(3),
        plural(samples.length, 'run'),
        fate,
      ];
    });
    for (const line of table(rows, { indent: 4, right: [1, 2, 3] })) output.line(line);
  }
  output.line();
}
