import { writeFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { DEFAULT_RUNS, MIN_RUNS, measure } from '../../bench/measure.js';
import { measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { buildVersion, sourceCommit } from '../../console/command/version.js';
import { type DeviceCommandOptions, setUpDevices, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { bytes } from '../../console/output/format.js';
import type { Output } from '../../console/output/output.js';
import { poolMetricsOption, type TelemetryOptions, withUpstreamVariables } from '../../console/telemetry/options.js';
import { poolLines } from '../../console/telemetry/report.js';
import type { Device } from '../../device/device.js';
import { openDevices } from '../../device/registry.js';
import { type PoolMetrics, poolMetrics } from '../../engine/telemetry/pool-metrics.js';
import { MillraceError } from '../../kernel/error.js';
import { allRows } from './bench/all-rows.js';
import { coalescedRates, type MethodFigures } from './bench/coalesced.js';
import { endToEndRate } from './bench/end-to-end.js';
import { deviceRate, type EncodeRate, hostRate, type RateOptions } from './bench/rate.js';
import { type BenchReport, percentile, reportName, reportText } from './bench/statistics.js';
import { encodingOf, encodings, MAX_QUBITS, precisionOf } from './kernel/encoding.js';

/** `millrace bench encode` */
export function encodeBench(): Command {
  const command = new Command('encode')
    .description('rate of encoding vectors on a device; the first and last state of a batch are checked')
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(valueOption('--encoding <name>', encodings.join(', ')).default('amplitude'))
    .addOption(
      valueOption('-q, --qubits <n>', 'qubits of a state').argParser(wholeNumberParser(1, MAX_QUBITS)).default(16),
    )
    .addOption(
      valueOption('--batch-size <n>', 'samples per batch')
        .argParser(wholeNumberParser(1, 2 ** 20))
        .default(64),
    )
    .addOption(
      valueOption('--batches <n>', 'batches per trial')
        .argParser(wholeNumberParser(1, 2 ** 24))
        .default(100),
    )
    .addOption(
      valueOption('--trials <n>', `counted trials, ${MIN_RUNS} or more`)
        .argParser(wholeNumberParser(MIN_RUNS, 1000))
        .default(DEFAULT_RUNS),
    )
    .addOption(valueOption('--prefetch <n>', 'batches in flight').argParser(wholeNumberParser(1, 64)).default(16))
    .addOption(
      valueOption('--slots <n>', 'batches on the device at a time').argParser(wholeNumberParser(1, 64)).default(4),
    )
    .addOption(valueOption('--dtype <type>', 'f64 or f32').default('f64'))
    .addOption(
      valueOption(
        '--source <where>',
        'where the samples are; loop: made, normalised and consumed by the timed loop; all: all of these, in turns',
      )
        .choices(['pinned', 'plain', 'device', 'loop', 'all'])
        .default('pinned'),
    )
    .addOption(new Option('--use-coalesced', 'the same as --coalesced').implies({ coalesced: true }).hideHelp())
    .addOption(flag('--coalesced', 'gather requests of one batch each, alternating with a stream and single calls'))
    .addOption(poolMetricsOption())
    .addOption(valueOption('--report <prefix>', 'write PREFIX_<date>_rep_config.md, and .json with the trials'));
  withDeviceOptions(command).action(action(bench));
  return withExamples(
    command,
    ['millrace bench encode --device cuda:0 --batches 500 --trials 20 --report encode'],
    ['millrace bench encode --source device', 'the kernels alone'],
    ['millrace bench encode --source loop', 'end to end: samples are made, normalised and consumed'],
    ['millrace bench encode --source all', 'the rows of `python -m encode.bench`, beside PyTorch and NumPy'],
    ['millrace bench encode --batch-size 1 --coalesced', 'requests of one sample, gathered and not'],
  );
}

interface BenchOptions extends DeviceCommandOptions, Pick<TelemetryOptions, 'poolMetrics'> {
  readonly device: string;
  readonly encoding: string;
  readonly qubits: number;
  readonly batchSize: number;
  readonly batches: number;
  readonly trials: number;
  readonly prefetch: number;
  readonly slots: number;
  readonly dtype: string;
  readonly source: 'pinned' | 'plain' | 'device' | 'loop' | 'all';
  readonly report?: string;
  readonly coalesced?: boolean;
}

async function bench({ output, options: opts }: Call<BenchOptions>): Promise<ExitCode> {
  const opening = setUpDevices(opts, output);
  const { qubits, batchSize: batch, batches, trials: runs, prefetch, slots, source } = opts;
  const encoderOptions = { encoding: encodingOf(opts.encoding), qubits, precision: precisionOf(opts.dtype), batch };
  const devices = await openDevices(opts.device, opening.options);
  try {
    const host = machine(devices.map((device) => device.info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    for (const device of devices) {
      const pool = new PoolRecord();
      const showsPool = withUpstreamVariables(opts).poolMetrics === true;
      const rateOptions = { ...encoderOptions, batches, runs, inFlight: prefetch, slots, onSlot: pool.note };
      const figures = opts.coalesced
        ? await gathered(device, source, { ...rateOptions, trials: runs })
        : source === 'all'
          ? await inTurns(device, rateOptions)
          : await throughput(device, source, rateOptions, (fields) =>
              output.event('measurement', { ...fields, ...(showsPool && { pool: pool.metrics }) }),
            );
      const date = new Date();
      const { name, versions } = device.info;
      const report: BenchReport = {
        date,
        commit: sourceCommit(),
        build: buildVersion(),
        device: `${device.info.id}, ${name}`,
        driver: versions.driver,
        runtime: versions.cuda,
        parameters: {
          qubits,
          batch_size: batch,
          prefetch,
          slots,
          batches,
          trials: runs,
          encoding: encoderOptions.encoding,
          dtype: encoderOptions.precision,
          source,
          mode: opts.coalesced ? 'coalesced' : source === 'all' ? 'in turns' : 'stream',
          path: figures.path,
        },
        ...figures,
      };
      const text = reportText(report);
      for (const line of text.split('\n')) output.line(line);
      if (showsPool) printPool(output, device, pool);
      if (opts.report !== undefined) await writeReport(opts.report, report, text, pool);
      await opening.reportApiCalls(device);
    }
    return Exit.ok;
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** Records how many slots were free when a batch requested one, and how long batches waited. */
class PoolRecord {
  readonly #free: number[] = [];
  readonly #waitsNs: number[] = [];

  readonly note = (free: number, waitedNs: number): void => {
    this.#free.push(free);
    if (waitedNs > 0) this.#waitsNs.push(waitedNs);
  };

  get metrics(): PoolMetrics {
    return poolMetrics(this.#free, this.#waitsNs);
  }
}

function printPool(output: Output, device: Device, { metrics }: PoolRecord): void {
  const { lines, warning } = poolLines({ device: device.info.id, pool: metrics });
  for (const line of lines) output.say(line);
  if (warning !== undefined) output.warn(warning);
}

interface BenchFigures extends Pick<BenchReport, 'results' | 'others' | 'notes' | 'busy'> {
  readonly path: string;
}

/** The first row is the base of the ratios. */
async function inTurns(device: Device, rateOptions: RateOptions & { readonly runs: number }): Promise<BenchFigures> {
  const { path, rows, absent } = await allRows(device, rateOptions);
  const [first, ...others] = rows;
  if (!first) throw new TypeError('a report without rows');
  return {
    path,
    results: first,
    notes: [`this is ${first.name}`, ...absent.map((name) => `not installed for python3: ${name}`)],
    others,
  };
}

async function throughput(
  device: Device,
  source: Exclude<BenchOptions['source'], 'all'>,
  rateOptions: RateOptions,
  report: (fields: Readonly<Record<string, unknown>>) => void,
): Promise<BenchFigures> {
  const rated = await rateFrom(device, source, rateOptions);
  const trials: number[] = [];
  try {
    const one = await measure({
      ...rated,
      run: async () => {
        const run = await rated.run();
        trials.push(run.work / (run.seconds ?? Number.NaN));
        return run;
      },
    });
    const inFlight = rated.latencies?.();
    const latencies = {
      ...(inFlight && { [`${rateOptions.inFlight} in flight`]: inFlight }),
      'one at a time': await rated.measureAlone(Math.min(MAX_ALONE, rateOptions.batches)),
    };
    const latencyMs = Object.fromEntries(
      Object.entries(latencies).map(([name, values]) => [name, medianAndP95(values)]),
    );
    report({ ...measurementFields(one), path: rated.path, source, latencyMs });
    const results = { trials: trials.slice(1), latencies }; // the first run only warms up
    return { path: rated.path, results, busy: rated.busy?.() };
  } finally {
    rated.close();
  }
}

function rateFrom(
  device: Device,
  source: Exclude<BenchOptions['source'], 'all'>,
  rateOptions: RateOptions,
): Promise<EncodeRate> {
  switch (source) {
    case 'device':
      return deviceRate(device, rateOptions);
    case 'loop':
      return endToEndRate(device, rateOptions);
    case 'pinned':
    case 'plain':
      return hostRate(device, source, rateOptions);
  }
}

/** Requests whose latency is measured one at a time. */
const MAX_ALONE = 200;

const medianAndP95 = (values: readonly number[]) => ({
  median: percentile(values, 0.5),
  p95: percentile(values, 0.95),
});

async function gathered(
  device: Device,
  source: BenchOptions['source'],
  rateOptions: RateOptions & { readonly trials: number },
): Promise<BenchFigures> {
  if (source === 'device' || source === 'loop' || source === 'all') {
    throw new MillraceError({
      code: 'usage',
      message: '--coalesced gathers requests on their way from the host to the device',
      asked: `--coalesced --source ${source}`,
      advice: 'use --source pinned or plain',
    });
  }
  const { path, coalesced, others, perBatch, requestBytes, gatheredBytes } = await coalescedRates(
    device,
    source,
    rateOptions,
  );
  const [request, limit] = [bytes(requestBytes), bytes(gatheredBytes)];
  const note =
    perBatch > 1
      ? `gathered: ${perBatch.toFixed(1)} requests of ${request} a batch, up to ${limit}`
      : `gathered: nothing. Two requests of ${request} exceed a batch of ${limit}`;
  return {
    path,
    results: resultsOf(coalesced),
    notes: [note],
    others: others.map((one) => ({ name: one.name, ...resultsOf(one) })),
  };
}

const resultsOf = ({ name, trials, latencies }: MethodFigures) => ({
  trials,
  latencies: { [name.toLowerCase()]: latencies },
});

async function writeReport(prefix: string, report: BenchReport, text: string, pool: PoolRecord): Promise<void> {
  const { date, commit, build, results, others, notes, busy } = report;
  const name = reportName(prefix, date);
  await writeFile(name, text);
  const content = {
    date,
    commit,
    build,
    vectorsPerSecond: results.trials,
    latencyMs: results.latencies,
    pool: pool.metrics,
    ...(busy && { busy }),
    ...(notes && { notes }),
    ...Object.fromEntries((others ?? []).map((one) => [METHOD_KEYS[one.name] ?? one.name, one.trials])),
  };
  await writeFile(name.replace(/\.md$/, '.json'), `${JSON.stringify(content)}\n`);
}

const METHOD_KEYS: Readonly<Record<string, string>> = { Stream: 'stream', 'Per batch': 'perBatch' };
