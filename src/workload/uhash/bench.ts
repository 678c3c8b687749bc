import { Command } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { type Comparison, DEFAULT_RUNS, type Measurement, MIN_RUNS, measure, spreadOf } from '../../bench/measure.js';
import { comparisonTable, measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import {
  type PipelineCommandOptions,
  pipelineSetup,
  withPipelineOptions,
} from '../../console/options/pipeline-options.js';
import { type TuningOptions, useStoredTunings, withTuningOptions } from '../../console/options/tuning-options.js';
import { bytes } from '../../console/output/format.js';
import type { Device } from '../../device/device.js';
import { openDevices } from '../../device/registry.js';
import { checksum, rateOf } from './bench/rate.js';
import { hugePageStatus } from './job/huge-pages.js';
import { IN_FLIGHT, planFor } from './kernel/plan.js';
import { backends, uhashOptions } from './options.js';

/** `millrace bench uhash`, which is also `millrace uhash bench`. */
export function uhashBench(name = 'uhash'): Command {
  const command = new Command(name)
    .description('rate of UniversalHash on devices, each batch checked; with --sweep by batch size')
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(uhashOptions.backend())
    .addOption(
      valueOption('--batch-size <n>', 'nonces per batch (default: the best for the device)').argParser(
        wholeNumberParser(1, 2 ** 20),
      ),
    )
    .addOption(
      valueOption('--count <n>', 'hashes of a run (default: those of about a second)').argParser(
        wholeNumberParser(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(flag('--sweep', 'measure batches of 1/8, 1/4, 1/2, 1 and 2 times the size'))
    .addOption(
      valueOption('--runs <n>', `measured runs, ${MIN_RUNS} or more`)
        .argParser(wholeNumberParser(MIN_RUNS, 1000))
        .default(DEFAULT_RUNS),
    );
  withTuningOptions(withPipelineOptions(withDeviceOptions(command), { slots: `${IN_FLIGHT.slots}` })).action(
    action(bench),
  );
  return withExamples(
    command,
    ['millrace bench uhash --device cuda,cpu'],
    ['millrace bench uhash --sweep', 'by batch size'],
  );
}

interface BenchOptions extends DeviceCommandOptions, PipelineCommandOptions, TuningOptions {
  readonly device: string;
  readonly backend?: string;
  readonly batchSize?: number;
  readonly count?: number;
  readonly sweep?: boolean;
  readonly runs: number;
}

async function bench({ output, options: opts }: Call<BenchOptions>): Promise<ExitCode> {
  useStoredTunings(opts, output);
  const pipeline = pipelineSetup(opts, output);
  const deviceSetup = setUpDevices(opts, output, pipeline.driver);
  const name = opts.backend === undefined ? opts.device : (backends[opts.backend] ?? opts.backend);
  const devices = await openDevices(name, deviceSetup.options);
  try {
    const host = machine(devices.map((device) => device.info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    for (const device of devices) {
      // One after the other: each takes all available memory.
      output.line(`\n${device.info.id}  ${device.info.name}\n`);
      const measured: Measurement[] = [];
      for (const batch of batchesOf(device, opts)) {
        const { runs, count } = opts;
        const size = { ...(batch && { batch }), ...(count && { count }) };
        const rated = await rateOf(device, { engine: pipeline.engine, runs, ...size });
        try {
          const one = await measure(rated);
          measured.push(one);
          const { plan, checked } = rated;
          output.event('measurement', { ...measurementFields(one), ...plan, checked, params });
          output.explain(`${one.name}: ${checked} digests recomputed, ${bytes(plan.batch * 2 ** 21)} a batch`);
        } finally {
          await rated.close();
        }
      }
      for (const line of comparisonTable(unpairedComparison(measured))) output.line(line);
      const sum = await checksum(device, CHECKED);
      output.event('checksum', { device: device.info.id, nonces: CHECKED, sha256: sum });
      output.line(`SHA-256 of the digests of nonces 0 to ${CHECKED - 1}: ${sum}`);
      const pages = device.info.kind === 'native' ? hugePageStatus() : undefined;
      if (pages) output.line(`scratchpads: ${pages}`);
      await deviceSetup.reportApiCalls(device);
    }
    return Exit.ok;
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** Parameters of a hash, by the original's names. */
const params = { chains: 4, scratchpad_kb: 512, total_mb: 2, rounds: 12_288 };

/** Nonces whose digests go into the checksum. Devices and versions that agree have the same checksum. */
const CHECKED = 24;

/** Batches take all memory, so runs cannot alternate between sizes: ratios are those of the medians. */
function unpairedComparison(measurements: readonly Measurement[]): Comparison {
  const base = measurements[0]?.rate.median ?? Number.NaN;
  return { measurements, ratios: measurements.map(({ rate }) => spreadOf([rate.median / base])) };
}

function batchesOf(device: Device, { batchSize, sweep = false }: BenchOptions): (number | undefined)[] {
  if (!sweep) return [batchSize];
  const { batch } = planFor(device.info, batchSize === undefined ? {} : { batch: batchSize });
  const sizes = [1 / 8, 1 / 4, 1 / 2, 1, 2].map((share) => Math.max(3, Math.round((batch * share) / 3) * 3));
  return [...new Set(sizes)];
}
