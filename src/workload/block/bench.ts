import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { type Candidate, compare, DEFAULT_RUNS, MIN_RUNS, type Spread, spreadOf } from '../../bench/measure.js';
import { comparisonTable, measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { startScratchCache } from '../../console/command/scratch-cache.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../../console/options/device-options.js';
import { options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import {
  type PipelineCommandOptions,
  pipelineSetup,
  withPipelineOptions,
} from '../../console/options/pipeline-options.js';
import { type TuningOptions, useStoredTunings, withTuningOptions } from '../../console/options/tuning-options.js';
import { duration } from '../../console/output/format.js';
import { withPreparationBar } from '../../console/output/preparation.js';
import { table } from '../../console/output/table.js';
import type { Device } from '../../device/device.js';
import { thisCpu } from '../../device/native/cpu.js';
import { openDevice, openDevices } from '../../device/registry.js';
import { kernelText } from '../../kernel/index.js';
import { peers } from './bench/peers.js';
import { fedRateOf, rateOf } from './bench/rate.js';
import { headerScan } from './kernel/kernel.js';

/** `millrace bench block` */
export function blockBench(): Command {
  const command = new Command('block')
    .description(
      'SHA-256d rate of the block kernel: one device against OpenSSL, or several side by side; with --pipeline, --streams or --slots also of a job with these options',
    )
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(
      valueOption('--runs <n>', `measured runs, ${MIN_RUNS} or more`)
        .argParser(wholeNumberParser(MIN_RUNS, 1000))
        .default(DEFAULT_RUNS),
    );
  withTuningOptions(withPipelineOptions(withDeviceOptions(command))).action(action(bench));
  return withExamples(
    command,
    ['millrace bench block', 'next to OpenSSL'],
    ['millrace bench block --device cuda,opencl --pipeline poll', 'side by side, also as jobs'],
  );
}

interface BenchOptions extends DeviceCommandOptions, PipelineCommandOptions, TuningOptions {
  readonly device: string;
  readonly runs: number;
}

async function bench({ output, options: opts }: Call<BenchOptions>): Promise<ExitCode> {
  const { device: names, runs, threads } = opts;
  useStoredTunings(opts, output);
  const pipeline = pipelineSetup(opts, output);
  const deviceSetup = setUpDevices(opts, output, pipeline.driver);
  const opened = await openDevices(names, deviceSetup.options);
  try {
    const [first] = opened;
    const alone = opened.length === 1 ? first : undefined;
    // Without --threads a CPU is measured twice: one thread compares with OpenSSL, all threads are what a user gets.
    const both = alone && threads === undefined && isCpu(alone) && availableParallelism() > 1;
    if (both) opened.unshift(await openDevice(alone.info.id, { ...deviceSetup.options, threads: 1 }));
    const host = machine(opened.map((device) => device.info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    const translate = translation();
    const ids = new Set(opened.map(({ info }) => info.id));
    const compiles = await withPreparationBar(output, 'compiling into an empty cache', ids.size, (step) =>
      coldCompiles([...ids], step),
    );
    const candidates: Candidate[] = [];
    for (const device of opened) {
      candidates.push(await rateOf(device, runs));
      if (pipeline.isSet) candidates.push(await fedRateOf(device, runs, pipeline.engine));
    }
    const comparison = await compare([...(alone ? await peers(runs) : []), ...candidates]);
    const peer = alone ? '; OpenSSL by the same count of compressions' : '';
    output.line(`\nSHA-256d of a header, per nonce${peer}\n`);
    for (const line of comparisonTable(comparison)) output.line(line);
    for (const [at, one] of comparison.measurements.entries()) {
      output.event('measurement', { ...measurementFields(one), ratio: comparison.ratios[at] });
    }
    output.event('translation', { first: translate.first, seconds: translate.warm });
    for (const [device, seconds] of compiles) output.event('compile', { device, seconds, cached: false });
    output.line();
    const rows = [
      [
        'trace, passes, print',
        duration(translate.warm.median),
        `median of ${DEFAULT_RUNS}; ${duration(translate.first)} the first time`,
      ],
      ...[...compiles].map(([device, seconds]) => [`compile for ${device}`, duration(seconds), 'into an empty cache']),
    ];
    for (const line of table(rows, { right: [1] })) output.line(line);
    for (const device of opened) await deviceSetup.reportApiCalls(device);
    return Exit.ok;
  } finally {
    await Promise.all(opened.map((device) => device.close()));
  }
}

const isCpu = ({ info }: Device): boolean => info.kind === 'native' || info.kind === 'wasm';

/** Runs that are not counted: JavaScript is compiled while it runs. */
const WARM_UP = 3;

/** Seconds from TypeScript to C: the first time, and warmed up. */
function translation(): { readonly first: number; readonly warm: Spread } {
  const cpu = thisCpu();
  const seconds = Array.from({ length: WARM_UP + DEFAULT_RUNS }, () => {
    const start = performance.now();
    kernelText(headerScan({ topWordZero: true }), { target: 'c', cpu });
    return (performance.now() - start) / 1000;
  });
  return { first: seconds[0] ?? 0, warm: spreadOf(seconds.slice(WARM_UP)) };
}

/** Seconds to compile the kernel with an empty cache, per device. */
async function coldCompiles(ids: readonly string[], done: (id: string) => void): Promise<Map<string, number>> {
  const seconds = new Map<string, number>();
  const scratch = startScratchCache();
  try {
    for (const id of ids) {
      const device = await openDevice(id);
      try {
        const { compile } = await device.compile(headerScan({ topWordZero: true }));
        seconds.set(id, compile.milliseconds / 1000);
        done(id);
      } finally {
        await device.close();
      }
    }
  } finally {
    scratch.end();
  }
  return seconds;
}
