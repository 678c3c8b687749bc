import type { BoundJob, Completion, Device, DeviceBuffer, Stream } from '../../../device/device.js';
import { programOf } from '../../../engine/flow/programs.js';
import { type Expr, type Kernel, lit, read, rw, select, tiles, type WideFloat } from '../../../kernel/index.js';
import type { Precision, StateShape } from '../kernel/encoding.js';
import type { EncodePlan } from '../kernel/plan.js';
import { EncodeError } from './errors.js';
import { checkRow, maxAngleOf, normShowsAll } from './rows.js';

/** Samples that are already on the device. */
export interface DeviceInput {
  /** Values of the encoder's precision, one after the other from its beginning; `basis` takes whole numbers (u32). */
  readonly buffer: DeviceBuffer;
  readonly samples: number;
  /**
   * The writer of the samples: a mark on a stream of the same device, or the handle of another library's CUDA stream.
   * Without it the samples must be complete.
   */
  readonly after?: Completion | number;
  /** The number of the first sample, for messages. */
  readonly first?: number;
}

/**
 * Checks values on the device: those that the host never sees, and amplitudes, which it would check more slowly than it
 * copies them. A tile per sample counts the invalid ones; if there are any, the host reads that sample and reports which.
 * Bits are compared, not floats: WGSL does not specify NaN. Undefined if the check of the norm is sufficient.
 */
export class DeviceInputCheck {
  readonly #job: BoundJob;
  readonly #plan: EncodePlan;
  readonly #device: Device;
  readonly #counts: DeviceBuffer;

  private constructor(device: Device, plan: EncodePlan, job: BoundJob, counts: DeviceBuffer) {
    this.#device = device;
    this.#plan = plan;
    this.#job = job;
    this.#counts = counts;
  }

  static async open(device: Device, plan: EncodePlan, batch: number): Promise<DeviceInputCheck | undefined> {
    if (plan.norm !== undefined && normShowsAll(device.info)) return undefined;
    const kernel = invalidValueCounts(plan.shape, plan.precision, maxAngleOf(device.info)) as unknown as Kernel;
    const program = await programOf(device, kernel);
    return new DeviceInputCheck(device, plan, program.bind({}), await device.alloc(Math.ceil(batch / 4) * 16));
  }

  /**
   * Queues the check. The returned function is called when a later mark has passed; it rejects with the error of the first
   * invalid value.
   */
  queue(stream: Stream, input: DeviceInput): () => Promise<void> {
    const { buffer, samples } = input;
    stream.launch({ job: this.#job, count: samples, buffers: { x: buffer, counts: this.#counts } });
    const counts = new Uint32Array(samples);
    stream.read(this.#counts, counts); // before the next batch's launch, which writes there
    return () => this.#verify(counts, stream, input);
  }

  async #verify(counts: Uint32Array, stream: Stream, { buffer, first = 0 }: DeviceInput): Promise<void> {
    const sample = counts.findIndex((count) => count > 0);
    if (sample < 0) return;
    const { shape, precision, bytes } = this.#plan;
    const row = rowArray(shape, precision);
    stream.read(buffer, row, sample * (bytes.x ?? 0));
    await stream.mark().done;
    checkRow(this.#device.info, shape, row, first + sample);
    throw new EncodeError('finite', {
      message: `sample ${first + sample} has ${counts[sample]} invalid values`,
      asked: `${shape.encoding} of ${shape.qubits} qubits`,
      advice: 'values must be finite, and must not change while they are encoded',
      sample: first + sample,
    });
  }

  free(): void {
    this.#counts.free();
  }
}

/** Makes a stream wait until another library's stream has completed its queued work. */
export function followStream(stream: Stream, handle: number): void {
  if (stream.follow) {
    stream.follow(handle);
    return;
  }
  throw new EncodeError('handover', {
    message: 'this device cannot wait for streams of other libraries',
    asked: `samples that stream ${handle} writes`,
    advice: 'wait for the stream, then encode without `after`',
  });
}

/** Refuses a buffer that is too short before anything is queued. */
export function checkInputSize({ shape, bytes }: EncodePlan, { buffer, samples }: DeviceInput): void {
  const needed = samples * (bytes.x ?? 0);
  if (buffer.bytes >= needed) return;
  throw new EncodeError('size', {
    message: `${samples} samples of ${shape.length} values take ${needed} bytes, the buffer has ${buffer.bytes}`,
    asked: `${shape.encoding} of ${shape.qubits} qubits from memory of the device`,
    advice: 'give fewer samples, or the values in the precision of the encoder',
  });
}

function rowArray({ encoding, length }: StateShape, precision: Precision): Float64Array | Float32Array | Uint32Array {
  if (encoding === 'basis') return new Uint32Array(1);
  return precision === 'f64' ? new Float64Array(length) : new Float32Array(length);
}

function invalidValueCounts({ encoding, qubits, length }: StateShape, real: WideFloat, maxAngle: number) {
  const type = encoding === 'basis' ? 'u32' : real;
  const max = encoding === 'amplitude' ? maxFinite[real] : maxAngle;
  return tiles(
    'encode-check',
    { buffers: { x: read(type), counts: rw('u32') }, lanes: 1 },
    ({ tile, sum, once, buffers: { x, counts } }) => {
      const isBad = (value: Expr<'u32'> | Expr<WideFloat>): Expr<'bool'> =>
        value.type === 'u32' ? (value as Expr<'u32'>).gt(2 ** qubits - 1) : isOutOfRange(value as Expr<WideFloat>, max);
      const bad = sum('u32', length, (i) => {
        const value = x.at(tile.mul(length).add(i)) as Expr<'u32'> | Expr<WideFloat>;
        return select(isBad(value), lit('u32', 1), 0);
      });
      once(() => counts.set(tile, bad));
    },
  );
}

const maxFinite = { f64: Number.MAX_VALUE, f32: (2 - 2 ** -23) * 2 ** 127 } as const;

/** True if |value| > max, infinite or NaN. Without the sign, bits are ordered as values, infinity and NaN last. */
function isOutOfRange(value: Expr<WideFloat>, max: number): Expr<'bool'> {
  const limit = new DataView(new ArrayBuffer(8));
  if (value.type === 'f32') {
    limit.setFloat32(0, max);
    return value.bits('u32').and(0x7fff_ffff).gt(limit.getUint32(0));
  }
  limit.setFloat64(0, max);
  const bits = value.bits('u64');
  const high = bits.hi.and(0x7fff_ffff);
  return high.gt(limit.getUint32(0)).or(high.eq(limit.getUint32(0)).and(bits.lo.gt(limit.getUint32(4))));
}
