import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { machine, machineLine } from '../../bench/machine.js';
import { LEAST_RUNS, measure } from '../../bench/measure.js';
import { measurementFields } from '../../bench/report.js';
import { action, type Call } from '../../console/action.js';
import { withExamples } from '../../console/conventions.js';
import { Exit, type ExitCode } from '../../console/exit.js';
import { type OpeningOptions, startOpening, withOpeningOptions } from '../../console/opening.js';
import { options, valued, wholeNumber } from '../../console/options.js';
import { openDevices } from '../../device/registry.js';
import { encodingOf, encodings, MOST_QUBITS, precisionOf } from './encoding.js';
import { deviceRate, hostRate } from './rate.js';
import { reportName, reportText } from './statistics.js';

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
    .addOption(valued('--report <prefix>', 'write PREFIX_<date>_rep_config.md, and .json with the trials'));
  withOpeningOptions(command).action(action(bench));
  return withExamples(
    command,
    ['millrace bench encode --device cuda:0 --batches 500 --trials 20 --report encode'],
    ['millrace bench encode --source device', 'the kernels alone'],
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
          path: rated.path,
        },
        // The first run only warms up.
        trials: trials.slice(1),
      });
      for (const line of text.split('\n')) output.line(line);
      if (asked.report !== undefined) await writeReport(asked.report, date, text, trials.slice(1));
      await opening.tell(device);
    }
    return Exit.ok;
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

async function writeReport(prefix: string, date: Date, text: string, trials: readonly number[]): Promise<void> {
  const name = reportName(prefix, date);
  await writeFile(name, text);
  await writeFile(name.replace(/\.md$/, '.json'), `${JSON.stringify({ date, vectorsPerSecond: trials })}\n`);
}
