import { createHash } from 'node:crypto';
import type { Candidate, Run } from '../../../bench/measure.js';
import type { Device, DeviceBuffer, Stream } from '../../../device/device.js';
import { programOf } from '../../../engine/flow/programs.js';
import { lengthRatio, type Overlap, overlapOf } from '../../../engine/telemetry/overlap.js';
import { MillraceError } from '../../../kernel/error.js';
import { fillSynthetic } from '../files/synthetic.js';
import { type BatchTimes, type Encoder, type EncoderOptions, openEncoder } from '../job/encoder.js';
import { rowsFor } from '../job/rows.js';
import { lengthOf, type Precision, type StateShape } from '../kernel/encoding.js';
import { bindingOf, type EncodePlan, planFor } from '../kernel/plan.js';
import { referenceStates } from '../kernel/reference.js';
import { oneAtATime, type RequestValues, type SubmitMethod, streamed } from './submit-methods.js';

export interface RateOptions extends EncoderOptions {
  readonly batches: number;
  readonly runs?: number;
  readonly inFlight?: number;
  /** For `deviceRate`: see `PlanOptions`, and the number of streams that encode batches in turn. */
  readonly pieceBits?: number;
  readonly streams?: number;
}

export interface EncodeRate extends Candidate {
  readonly path: string;
  /** Use of the bus and the processors in the runs so far, without the first. */
  readonly busy?: () => BusUsage;
  /** Milliseconds of each request in the runs so far, without the first run, with several in flight. */
  readonly latencies?: () => readonly number[];
  /** Measures requests made one at a time: milliseconds of each. */
  readonly measureAlone: SubmitMethod;
  close(): void;
}

/** Use of the bus, and its cost in processor time. */
export interface BusUsage {
  /** For each run, how much copying and encoding overlapped. */
  readonly overlaps: readonly Overlap[];
  /** The figure that other programs call overlap: see `lengthRatio`. */
  readonly lengthRatio: number;
  /** Processor seconds of all threads per second. */
  readonly processors: number;
}

/** Measures `Encoder.stream`: from values in host memory to states on the device. */
export async function hostRate(device: Device, from: 'pinned' | 'plain', options: RateOptions): Promise<EncodeRate> {
  let times: BatchTimes[] = [];
  const encoder = await openEncoder(device, { ...options, onTimes: (one) => times.push(one) });
  const inputs = await inputsOf(encoder, from);
  const { shape, precision, path } = encoder.plan;
  const { batches, inFlight = 4, runs } = options;
  const request: RequestValues = (k) => inputs.arrays[k % inputs.arrays.length] as Float64Array;
  const spent = new UsageRecorder();
  const latencies: (readonly number[])[] = [];
  const run = async (): Promise<Run> => {
    times = [];
    const before = process.cpuUsage();
    const begun = performance.now();
    let last: Float64Array | Float32Array | undefined;
    let seconds = 0;
    const stream = streamed(encoder, request, inFlight, async (states) => {
      seconds = (performance.now() - begun) / 1000;
      spent.add(times, process.cpuUsage(before), seconds);
      last = await states.read();
    });
    latencies.push(await stream(batches));
    const digest = checkedStates(device, shape, precision, request(batches - 1), last ?? new Float64Array());
    return { seconds, work: batches * encoder.batch, digest };
  };
  const name = `${shape.encoding} ${shape.qubits} × ${encoder.batch}, ${precision}, ${from} host`;
  const close = (): void => {
    encoder.close();
    inputs.free();
  };
  return {
    name,
    unit: 'vec',
    path,
    ...(runs !== undefined && { runs }),
    run,
    close,
    busy: () => spent.busy(),
    latencies: () => latencies.slice(1).flat(),
    measureAlone: oneAtATime((k) => encoder.encodeBatch(request(k))),
  };
}

/** Records each run. `busy` leaves out the first, which warms up. */
class UsageRecorder {
  readonly #runs: { readonly overlap: Overlap; readonly processors: number }[] = [];

  add(times: readonly BatchTimes[], { user, system }: NodeJS.CpuUsage, seconds: number): void {
    const copies = times.flatMap(({ copy }) => (copy ? [copy] : []));
    const overlap = overlapOf(
      copies,
      times.map(({ compute }) => compute),
    );
    this.#runs.push({ overlap, processors: (user + system) / 1e6 / seconds });
  }

  busy(): BusUsage {
    const counted = this.#runs.slice(1);
    const mean = (of: (run: (typeof counted)[number]) => number): number =>
      counted.reduce((sum, run) => sum + of(run), 0) / counted.length;
    return {
      overlaps: counted.map(({ overlap }) => overlap),
      lengthRatio: lengthRatio(
        mean(({ overlap }) => overlap.copyNs),
        mean(({ overlap }) => overlap.computeNs),
      ),
      processors: mean(({ processors }) => processors),
    };
  }
}

/** Number of different batches, so that consecutive copies differ. */
const INPUTS = 4;

export async function inputsOf(encoder: Encoder, from: 'pinned' | 'plain', samples = encoder.batch) {
  const { shape, precision } = encoder.plan;
  const arrays: (Float64Array | Float32Array)[] = [];
  const held: { free(): void }[] = [];
  for (let at = 0; at < INPUTS; at++) {
    const values = samples * shape.length;
    const memory = from === 'pinned' ? await encoder.allocInput(samples) : undefined;
    if (memory) held.push(memory);
    const { buffer, byteOffset } = memory?.bytes ?? { buffer: undefined, byteOffset: 0 };
    const array =
      precision === 'f64'
        ? buffer
          ? new Float64Array(buffer, byteOffset, values)
          : new Float64Array(values)
        : buffer
          ? new Float32Array(buffer, byteOffset, values)
          : new Float32Array(values);
    fillSynthetic(shape, array, BigInt(at * samples));
    arrays.push(array);
  }
  return {
    arrays,
    free: () => {
      for (const one of held) one.free();
    },
  };
}

/** Measures the kernels alone, on data that is already on the device: consecutive launches, timed by the device. */
export async function deviceRate(device: Device, options: RateOptions): Promise<EncodeRate> {
  const { encoding, qubits, precision = 'f32', batch = 64, batches, runs } = options;
  const shape: StateShape = { encoding, qubits, length: options.length ?? lengthOf(encoding, qubits) };
  const plan = planFor(device.info, shape, {
    precision,
    ...(options.shared !== undefined && { shared: options.shared }),
    ...(options.pieceBits !== undefined && { pieceBits: options.pieceBits }),
  });
  const values = new Float64Array(batch * shape.length);
  fillSynthetic(shape, values, 0n);
  const rows = rowsFor(device.info, shape, precision, values);
  const { streams: width = 1 } = options;
  const benchStreams: BenchStream[] = [];
  const close = (): void => {
    for (const benchStream of benchStreams) benchStream.close();
  };
  try {
    for (let at = 0; at < width; at++) benchStreams.push(await openBenchStream(device, plan, batch, rows));
    const array = precision === 'f64' ? Float64Array : Float32Array;
    const digests: string[] = [];
    for (const { stream, buffers, encode } of benchStreams) {
      const states = new array(batch * 2 ** (qubits + 1));
      encode();
      stream.read(buffers.states as DeviceBuffer, states);
      await stream.mark().done;
      digests.push(checkedStates(device, shape, precision, values, states));
    }
    const [digest = ''] = digests;
    const run = async (): Promise<Run> => {
      for (let k = 0; k < batches; k++) benchStreams[k % width]?.encode();
      const ended = await Promise.all(benchStreams.map(({ stream }) => stream.mark().done));
      const startedNs = ended.reduce((first, one) => (one.startedNs < first ? one.startedNs : first), BigInt(2 ** 63));
      const endedNs = ended.reduce((last, one) => (one.endedNs > last ? one.endedNs : last), 0n);
      return { seconds: Number(endedNs - startedNs) / 1e9, work: batches * batch, digest };
    };
    const more = width > 1 ? `, ${width} streams` : '';
    const name = `${encoding} ${qubits} × ${batch}, ${precision}, encode only${more}`;
    const measureAlone = oneAtATime(async () => {
      benchStreams[0]?.encode();
      await benchStreams[0]?.stream.mark().done;
      return { release: () => undefined };
    });
    return { name, unit: 'vec', path: plan.path, ...(runs !== undefined && { runs }), run, close, measureAlone };
  } catch (error) {
    close();
    throw error;
  }
}

/** A stream with its own batch. */
interface BenchStream {
  readonly stream: Stream;
  readonly buffers: Readonly<Record<string, DeviceBuffer>>;
  encode(): void;
  close(): void;
}

async function openBenchStream(
  device: Device,
  plan: EncodePlan,
  batch: number,
  rows: ArrayBufferView,
): Promise<BenchStream> {
  const stream = device.stream();
  const buffers: Record<string, DeviceBuffer> = {};
  const close = (): void => {
    for (const buffer of Object.values(buffers)) buffer.free();
    stream.close();
  };
  try {
    for (const [name, bytes] of Object.entries(plan.bytes)) {
      buffers[name] = await device.alloc(Math.ceil((bytes * batch) / 16) * 16);
    }
    stream.write(buffers.x as DeviceBuffer, rows);
    await stream.mark().done;
    return { stream, buffers, encode: await launcher(device, plan, stream, buffers, batch), close };
  } catch (error) {
    close();
    throw error;
  }
}

async function launcher(
  device: Device,
  plan: EncodePlan,
  stream: Stream,
  buffers: Readonly<Record<string, DeviceBuffer>>,
  samples: number,
): Promise<() => void> {
  const launches = await Promise.all(
    plan.launches.map(async ({ kernel, tilesPerSample }) => {
      const program = await programOf(device, plan.kernels[kernel] as EncodePlan['kernels'][string]);
      const bound = program.bindings.map(
        ({ name }) => [name, buffers[bindingOf(plan, kernel, name)] as DeviceBuffer] as const,
      );
      return { job: program.bind({}), count: tilesPerSample * samples, buffers: Object.fromEntries(bound) };
    }),
  );
  return () => {
    for (const launch of launches) stream.launch(launch);
  };
}

/** Checks the first and last state of a batch against the reference. Returns a digest of all states. */
export function checkedStates(
  device: Device,
  shape: StateShape,
  precision: Precision,
  values: Float64Array | Float32Array,
  states: Float64Array | Float32Array,
): string {
  const { length, qubits } = shape;
  const size = 2 ** (qubits + 1);
  const samples = values.length / length;
  for (const sample of new Set([0, samples - 1])) {
    const expected = referenceStates(shape, 1, values.subarray(sample * length, (sample + 1) * length), { precision });
    const tolerance = precision === 'f64' ? 2e-15 : 1e-6;
    expected.forEach((value, i) => {
      const actual = states[sample * size + i] ?? Number.NaN;
      if (Math.abs(actual - value) <= tolerance) return;
      throw new MillraceError({
        code: 'device-failed',
        message: `${device.info.id}: part ${i} of state ${sample} is ${actual}, not ${value}`,
        asked: `${shape.encoding} of ${qubits} qubits`,
        advice: `run \`millrace selftest --device ${device.info.id}\`; a figure for wrong results is worth nothing`,
      });
    });
  }
  const { buffer, byteOffset, byteLength } = states;
  return createHash('sha256')
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest('hex');
}
