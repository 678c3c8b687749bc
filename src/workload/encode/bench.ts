import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { LEAST_RUNS, measure } from '../../bench/measure.js';
import { measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/action.js';
import { withExamples } from '../../console/conventions.js';
import { Exit, type ExitCode } from '../../console/exit.js';
import { type OpeningOptions, startOpening, withOpeningOptions } from '../../console/opening.js';
import { flag, options, valued, wholeNumber } from '../../console/options.js';
import type { Output } from '../../console/output.js';
import type { Device } from '../../device/device.js';
import { openDevices } from '../../device/registry.js';
import { MillraceError } from '../../kernel/error.js';
import { coalescedRates } from './coalesced.js';
import { encodingOf, encodings, MOST_QUBITS, precisionOf } from './encoding.js';
import { deviceRate, hostRate, type RateOptions } from './rate.js';
import { type BenchReport, reportName, reportText } from './statistics.js';

/** `millrace bench encode` */
export function encodeBench(): Command {
  const command = new Command('encode')
    .description('vectors a second to states on a device; the first and the last state of a batch are checked')
    .addOption(options.devices().default('auto', 'the best there is'))
    .addOption(valued('--encoding <name>', encodings.join(', ')).default('amplitude'))
    .addOption(valued('-q, --qubits <n>', 'qubits of a state').argParser(wholeNumber(1, MOST_QUBITS)).default(16))
    .addOption(
      valued('--batch-size <n>', 'samples of a batch')
        .argParser(wholeNumber(1, 2 ** 20))
        .default(64),
    )
    .addOption(
      valued('--batches <n>', 'batches of a trial')
        .argParser(wholeNumber(1, 2 ** 24))
        .default(100),
    )
    .addOption(
      valued('--trials <n>', `trials that count, ${LEAST_RUNS} or more`)
        .argParser(wholeNumber(LEAST_RUNS, 1000))
        .default(LEAST_RUNS),
    )
    .addOption(valued('--prefetch <n>', 'batches in flight').argParser(wholeNumber(1, 64)).default(16))
    .addOption(valued('--dtype <type>', 'f64 or f32').default('f64'))
    .addOption(valued('--source <where>', 'where samples are').choices(['pinned', 'plain', 'device']).default('pinned'))
    .addOption(flag('--coalesced', 'gather requests of a batch each, by turns with a call for each'))
    .addOption(valued('--report <prefix>', 'write PREFIX_<date>_rep_config.md, and .json with the trials'));
  withOpeningOptions(command).action(action(bench));
  return withExamples(
    command,
    ['millrace bench encode --device cuda:0 --batches 500 --trials 20 --report encode'],
    ['millrace bench encode --source device', 'the kernels alone'],
    ['millrace bench encode --batch-size 1 --coalesced', 'requests of one sample, gathered and not'],
  );
}

interface BenchOptions extends OpeningOptions {
  readonly device: string;
  readonly encoding: string;
  readonly qubits: number;
  readonly batchSize: number;
  readonly batches: number;
  readonly trials: number;
  readonly prefetch: number;
  readonly dtype: string;
  readonly source: 'pinned' | 'plain' | 'device';
  readonly report?: string;
  readonly coalesced?: boolean;
}

async function bench({ output, options: asked }: Call<BenchOptions>): Promise<ExitCode> {
  const opening = startOpening(asked, output);
  const { qubits, batchSize: batch, batches, trials: runs, prefetch, source } = asked;
  const given = { encoding: encodingOf(asked.encoding), qubits, precision: precisionOf(asked.dtype), batch };
  const devices = await openDevices(asked.device, opening.options);
  try {
    const host = machine(devices.map((device) => device.info));
    output.event('machine', { ...host });
    output.line(machineLine(host));
    for (const device of devices) {
      const wanted = { ...given, batches, runs, inFlight: prefetch };
      const found = asked.coalesced
        ? await gathered(device, source, { ...wanted, trials: runs })
        : await throughput(device, source, wanted, output);
      const date = new Date();
      const { name, versions } = device.info;
      const text = reportText({
        date,
        commit: undefined,
        device: `${device.info.id}, ${name}`,
        driver: versions.driver,
        runtime: versions.cuda,
        parameters: {
          qubits,
          batch_size: batch,
          prefetch,
          batches,
          trials: runs,
          encoding: given.encoding,
          dtype: given.precision,
          source,
          mode: asked.coalesced ? 'coalesced' : 'stream',
          path: found.path,
        },
        ...found,
      });
      for (const line of text.split('\n')) output.line(line);
      if (asked.report !== undefined) await writeReport(asked.report, date, text, found);
      await opening.tell(device);
    }
    return Exit.ok;
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

/** Vectors a second of each trial. */
interface Found extends Pick<BenchReport, 'trials' | 'against' | 'busy'> {
  readonly path: string;
}

async function throughput(
  device: Device,
  source: BenchOptions['source'],
  wanted: RateOptions,
  output: Output,
): Promise<Found> {
  const rated = await (source === 'device' ? deviceRate(device, wanted) : hostRate(device, source, wanted));
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
    output.event('measurement', { ...measurementFields(one), path: rated.path, source });
  } finally {
    rated.close();
  }
  return { path: rated.path, trials: trials.slice(1), busy: rated.busy?.() }; // the first run only warms up
}

async function gathered(
  device: Device,
  source: BenchOptions['source'],
  wanted: RateOptions & { readonly trials: number },
): Promise<Found> {
  if (source === 'device') {
    throw new MillraceError({
      code: 'usage',
      message: 'requests are gathered on their way to the device',
      asked: '--coalesced --source device',
      advice: 'take --source pinned or plain',
    });
  }
  const { path, coalesced, perBatch } = await coalescedRates(device, source, wanted);
  return { path, trials: coalesced, against: { name: 'Per batch', trials: perBatch } };
}

async function writeReport(prefix: string, date: Date, text: string, { trials, against, busy }: Found): Promise<void> {
  const name = reportName(prefix, date);
  await writeFile(name, text);
  const told = { date, vectorsPerSecond: trials, ...(busy && { busy }), ...(against && { perBatch: against.trials }) };
  await writeFile(name.replace(/\.md$/, '.json'), `${JSON.stringify(told)}\n`);
}
