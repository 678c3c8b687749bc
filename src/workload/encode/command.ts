import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { type OpenedEngine, withLazyEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import type { StripCoverage } from '../../console/live/live-task.js';
import { startProgressFeed } from '../../console/monitor/progress-feed.js';
import { type DeviceCommandOptions, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { type PipelineCommandOptions, withPipelineOptions } from '../../console/options/pipeline-options.js';
import { bytes, duration, plural, rate } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { openProgressLine } from '../../console/output/progress-line.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import { between } from '../../engine/index.js';
import { Intervals } from '../../engine/work/intervals.js';
import { openSink, type Sink } from './files/sink.js';
import { encodeRows } from './job/encode.js';
import { EncodeError } from './job/errors.js';
import { stagingPoolOf } from './job/staging-pool.js';
import { checkLength } from './job/validate.js';
import {
  encodingOf,
  encodings,
  MAX_QUBITS,
  type Precision,
  precisionOf,
  type StateShape,
  stateBytes,
} from './kernel/encoding.js';
import { openSource, type Source, sourceExtensions } from './source/source.js';

/** `millrace encode FILE` */
export function encodeCommand(): Command {
  const command = new Command('encode')
    .description('encode the samples in a file as quantum states of n qubits')
    .argument('<file>', `samples: ${sourceExtensions.join(', ')}`)
    .addOption(valueOption('--encoding <name>', encodings.join(', ')).default('amplitude'))
    .addOption(
      valueOption('-q, --qubits <n>', 'qubits of a state (default: the fewest that hold a sample)').argParser(
        wholeNumberParser(1, MAX_QUBITS),
      ),
    )
    .addOption(valueOption('-o, --out <file>', 'write the states to a file: .npy, .arrow, .feather, .ipc'))
    .addOption(valueOption('--dtype <type>', 'f64 or f32 (default: the type of the samples)'))
    .addOption(
      valueOption('--batch-size <n>', 'samples read and encoded at a time').argParser(wholeNumberParser(1, 2 ** 24)),
    )
    .addOption(
      valueOption('--length <n>', 'values per sample, for raw binary files').argParser(
        wholeNumberParser(1, 2 ** MAX_QUBITS),
      ),
    )
    .addOption(
      valueOption('--nulls <what>', 'how to treat nulls').choices(['fill_zero', 'reject']).default('fill_zero'),
    )
    .addOption(flag('--reverse-qubits', 'qubit 0 is the highest bit of the index, not the lowest'))
    .addOption(options.devices().default('auto', 'the best available'));
  withTelemetryOptions(withDeviceOptions(withPipelineOptions(command))).action(action(encode));
  return withExamples(
    command,
    ['millrace encode samples.npy --qubits 16 -o states.npy'],
    ['millrace encode angles.parquet --encoding angle --dtype f32 -o states.arrow'],
    ['millrace encode samples.f64 --length 65536', 'checks the samples and measures the rate'],
  );
}

interface EncodeCommandOptions extends DeviceCommandOptions, PipelineCommandOptions, TelemetryOptions {
  readonly encoding: string;
  readonly qubits?: number;
  readonly out?: string;
  readonly dtype?: string;
  readonly batchSize?: number;
  readonly length?: number;
  readonly nulls: 'fill_zero' | 'reject';
  readonly reverseQubits?: boolean;
  readonly device: string;
}

async function encode(call: Call<EncodeCommandOptions>): Promise<CommandResult> {
  const { options: opts, signal } = call;
  const [path = ''] = call.args;
  const encoding = encodingOf(opts.encoding);
  const source = await openSource(path, {
    nulls: opts.nulls,
    signal,
    ...(opts.batchSize !== undefined && { batch: opts.batchSize }),
    ...(opts.length !== undefined && { length: opts.length }),
  });
  try {
    const { length } = source;
    const shape: StateShape = { encoding, qubits: opts.qubits ?? qubitsFor(encoding, length), length };
    checkLength(shape);
    const precision = opts.dtype === undefined ? source.precision : precisionOf(opts.dtype);
    const setup = { name: `encode ${encoding}`, unit: 'vec' };
    return await withLazyEngine(call, setup, (open) => encodeSource(call, source, shape, precision, open));
  } finally {
    await source.close();
  }
}

async function encodeSource(
  { output, options: opts, signal, stop }: Call<EncodeCommandOptions>,
  source: Source,
  shape: StateShape,
  precision: Precision,
  open: () => Promise<OpenedEngine>,
): Promise<CommandResult> {
  let sink: Sink | undefined;
  let samples = 0;
  let isWritten = false;
  let feed: { end(): void } | undefined;
  try {
    if (opts.out !== undefined) sink = await openSink(opts.out, shape.qubits, precision);
    const { engine, devices, startTelemetry } = await open();
    startTelemetry();
    const progress = openProgressLine(output);
    const job = {
      name: `encode ${shape.encoding}`,
      unit: 'vec',
      progress: () => ({ done: BigInt(samples) }),
      devices: () => engine.devices,
      hits: () => 0,
      ...(source.samples !== undefined && {
        length: BigInt(source.samples),
        strip: () => encodedStrip(source, samples),
      }),
    };
    feed = startProgressFeed(output, engine, job, { stop, signal });
    const begun = performance.now();
    const [device, ...more] = devices;
    const pool = device && more.length === 0 ? stagingPoolOf(device) : undefined;
    const made = encodeRows(source.batches(pool?.allocate), {
      shape,
      precision,
      engine,
      devices,
      signal,
      ...(pool && { release: (rows) => pool.release(rows) }),
      ...(opts.reverseQubits && { order: 'big' }),
      ...(opts.batchSize !== undefined && { batch: opts.batchSize }),
    });
    for await (const batch of made) {
      await sink?.write(batch.bytes);
      samples += batch.count;
      batch.release();
      progress.show(() => `${samples} states`);
    }
    progress.clear();
    signal.throwIfAborted();
    await sink?.finish();
    isWritten = true;
    const seconds = (performance.now() - begun) / 1000;
    const { encoding, length } = shape;
    const total = samples * stateBytes(shape.qubits, precision);
    const where = devices.map(({ info }) => info.id).join(' and ');
    output.say(
      `${plural(samples, 'state')} of ${plural(shape.qubits, 'qubit')} (${encoding}, ${precision}, ${bytes(total)}) in ${duration(seconds)} on ${where}, ${rate(samples / seconds, 'vec')}`,
    );
    const answer = {
      encoding,
      qubits: shape.qubits,
      samples,
      length,
      dtype: precision,
      seconds,
      out: opts.out ?? null,
    };
    return { exit: Exit.ok, answer };
  } finally {
    feed?.end();
    if (!isWritten) await sink?.discard();
  }
}

function encodedStrip({ samples: length = 0 }: Source, done: number): StripCoverage {
  return {
    space: { start: 0n, length: BigInt(length) },
    ...{ done: Intervals.of([between(0n, BigInt(done))]), onDevice: Intervals.none, redone: Intervals.none },
    of: 'samples',
  };
}

/** Returns the fewest qubits that hold a sample. The index of a basis state does not determine them. */
function qubitsFor(encoding: StateShape['encoding'], length: number): number {
  if (encoding === 'amplitude') return Math.max(1, Math.ceil(Math.log2(length)));
  if (encoding === 'iqp') return Math.round((Math.sqrt(8 * length + 1) - 1) / 2);
  if (encoding !== 'basis') return length;
  throw new EncodeError('qubits', {
    message: 'the index of a basis state does not determine the number of qubits',
    asked: 'basis states',
    advice: 'give --qubits',
  });
}
