import { Command } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import {
  type Comparison,
  compare,
  DEFAULT_RUNS,
  type Measurement,
  MIN_RUNS,
  measure,
  spreadOf,
} from '../../bench/measure.js';
import { comparisonTable, measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../../console/options/device-options.js';
import { options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import {
  type PipelineCommandOptions,
  pipelineSetup,
  withPipelineOptions,
} from '../../console/options/pipeline-options.js';
import { rate } from '../../console/output/format.js';
import type { Output } from '../../console/output/output.js';
import type { Device } from '../../device/device.js';
import { type OpenOptions, openDevice, openDevices } from '../../device/registry.js';
import { gmpPower } from './bench/peers.js';
import { fermatBase, fermatRate, type GapCandidate, searchLength, searchRate, sieveRate } from './bench/rate.js';
import { DEFAULT_PRIMES, MAX_PRIMES, MIN_PRIMES, SEARCH_STREAMS } from './kernel/plan.js';

/** `millrace bench gaps` */
export function gapsBench(): Command {
  const command = new Command('gaps')
    .description('Fermat tests, the sieve, and both as a job, each of them checked')
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(
      valueOption('--bits <n>', 'bits of the tested numbers')
        .argParser(wholeNumberParser(257, 1280))
        .default(FERMAT_BITS),
    )
    .addOption(
      valueOption('--primes <n>', 'primes to sieve with')
        .argParser(wholeNumberParser(MIN_PRIMES, MAX_PRIMES))
        .default(DEFAULT_PRIMES),
    )
    .addOption(
      valueOption('--runs <n>', `measured runs, ${MIN_RUNS} or more`)
        .argParser(wholeNumberParser(MIN_RUNS, 1000))
        .default(DEFAULT_RUNS),
    );
  withPipelineOptions(withDeviceOptions(command), SEARCH_STREAMS).action(action(bench));
  return withExamples(command, ['millrace bench gaps --device cuda,native --bits 320']);
}
const FERMAT_BITS = 320;

interface BenchOptions extends DeviceCommandOptions, PipelineCommandOptions {
  readonly device: string;
  readonly bits: number;
  readonly primes: number;
  readonly runs: number;
}

async function bench({ output, options: opts }: Call<BenchOptions>): Promise<ExitCode> {
  const pipeline = pipelineSetup(opts, output);
  const deviceSetup = setUpDevices(opts, output, pipeline.driver);
  const devices = await openDevices(opts.device, deviceSetup.options);
  try {
    const host = machine(devices.map((device) => device.info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    for (const device of devices) {
      await compareWithGmp(output, device, opts, deviceSetup.options);
      for (const make of candidatesFor(device, opts, pipeline.engine)) {
        const one = await make();
        try {
          const measured = await measure(one);
          const testRate = (one.tests?.() ?? 0) / measured.seconds.median;
          output.event('measurement', {
            ...measurementFields(measured),
            ...(testRate > 0 && { testsPerSecond: testRate }),
          });
          output.line();
          for (const line of comparisonTable(alone(measured))) output.line(line);
          if (testRate > 0) output.line(`${rate(testRate, 'tests')} in it`);
        } finally {
          await one.close();
        }
      }
      await deviceSetup.reportApiCalls(device);
    }
    return Exit.ok;
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** Compares one core with GMP, in alternating runs. */
async function compareWithGmp(
  output: Output,
  { info }: Device,
  { bits, runs }: BenchOptions,
  how: OpenOptions,
): Promise<void> {
  const peer = info.kind === 'native' ? gmpPower(fermatBase(bits), CORE_TESTS, runs) : undefined;
  if (peer === undefined) return;
  const core = await openDevice(info.id, { ...how, threads: 1 });
  try {
    const own = await fermatRate(core, { bits, runs, count: CORE_TESTS });
    const compared = await compare([peer, { ...own, name: `${own.name}, 1 thread` }]);
    output.line();
    for (const line of comparisonTable(compared)) output.line(line);
    for (const [at, one] of compared.measurements.entries())
      output.event('measurement', { ...measurementFields(one), ratio: compared.ratios[at] });
    own.close();
  } finally {
    await core.close();
  }
}
/** Takes about a tenth of a second. */
const CORE_TESTS = 4096;

/** The measurements, one after the other. Their units differ, so they are not compared with each other. */
function candidatesFor(
  device: Device,
  { bits, primes, runs }: BenchOptions,
  engine: object,
): (() => Promise<GapCandidate>)[] {
  const isGpu = device.info.processor === 'gpu';
  // The first two take about a tenth of a second on an H200 and on a core, the search about a second.
  return [
    () => fermatRate(device, { bits, runs, count: isGpu ? 2 ** 23 : 2 ** 12 }),
    () => sieveRate(device, { primes, runs, ...(!isGpu && { depth: 1 }) }),
    () => searchRate(device, { primes, runs, engine, length: searchLength(device) }),
  ];
}

const alone = (measurement: Measurement): Comparison => ({ measurements: [measurement], ratios: [spreadOf([1])] });
