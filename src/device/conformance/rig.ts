import type { Kernel, Type, Value } from '../../kernel/index.js';
import type {
  CompileOptions,
  Device,
  DeviceBuffer,
  DeviceProgram,
  FieldValues,
  Launch,
  Report,
  Stream,
} from '../device.js';
import { halfBits, halfValue } from './model/float-model.js';

/** Contents of buffers, on the host's side. */
export type Data =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

export interface LaunchSetup {
  readonly job?: FieldValues;
  readonly chunk?: FieldValues;
  readonly base?: bigint;
  readonly count: number;
  readonly buffers?: Readonly<Record<string, Data>>;
  readonly ring?: Uint32Array;
}

export interface LaunchOutcome {
  /** The buffers after the launch, under their names. */
  readonly buffers: Readonly<Record<string, Data>>;
  readonly ring: Uint32Array;
  readonly report: Report;
}

/** A device with a stream, for one case. `Rig.with` frees what the case allocated. */
export class Rig {
  readonly device: Device;
  readonly stream: Stream;
  readonly #buffers: DeviceBuffer[] = [];

  constructor(device: Device) {
    this.device = device;
    this.stream = device.stream();
  }

  /** Runs `body` with a rig and always cleans up. */
  static async with<R>(device: Device, body: (rig: Rig) => Promise<R>): Promise<R> {
    const rig = new Rig(device);
    try {
      return await body(rig);
    } finally {
      for (const buffer of rig.#buffers) buffer.free();
      rig.stream.close();
    }
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    const buffer = await this.device.alloc(bytes);
    this.#buffers.push(buffer);
    return buffer;
  }

  /** Makes a buffer with these contents. The array must not change until a later completion. */
  async allocWith(data: Data): Promise<DeviceBuffer> {
    const buffer = await this.alloc(data.byteLength);
    this.stream.write(buffer, data);
    return buffer;
  }

  async readBack<D extends Data>(buffer: DeviceBuffer, into: D): Promise<D> {
    this.stream.read(buffer, into);
    await this.stream.mark().done;
    return into;
  }

  /**
   * Runs one launch over copies of the given buffers. If `cancelAfterMs` is given, cancels it that long after queueing
   * it.
   */
  async run(program: DeviceProgram, setup: LaunchSetup, cancelAfterMs?: number): Promise<LaunchOutcome> {
    const { job = {}, chunk, base, count, ring } = setup;
    const copies = Object.entries(setup.buffers ?? {}).map(([name, data]) => [name, data.slice()] as const);
    const deviceBuffers: Record<string, DeviceBuffer> = {};
    for (const [name, data] of copies) deviceBuffers[name] = await this.allocWith(data);
    const hits = ring?.slice() ?? new Uint32Array(0);
    const ringBuffer = ring && (await this.allocWith(hits));
    const launch: Launch = {
      job: program.bind(job),
      count,
      buffers: deviceBuffers,
      ...(chunk && { chunk }),
      ...(base !== undefined && { base }),
      ...(ringBuffer && { ring: ringBuffer }),
    };
    this.stream.launch(launch);
    const cancelled = cancelAfterMs === undefined ? undefined : this.stream.mark();
    if (cancelled) {
      await pause(cancelAfterMs);
      this.stream.cancel();
    }
    for (const [name, data] of copies) this.stream.read(deviceBuffers[name] as DeviceBuffer, data);
    if (ringBuffer) this.stream.read(ringBuffer, hits);
    const read = this.stream.mark();
    const report = await (cancelled ?? read).done;
    await read.done;
    return { buffers: Object.fromEntries(copies), ring: hits, report };
  }
}

export const pause = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Compiles and runs once. */
export function runKernel(
  device: Device,
  kernel: Kernel,
  setup: LaunchSetup,
  options: CompileOptions = {},
): Promise<LaunchOutcome> {
  return Rig.with(device, async (rig) => rig.run(await device.compile(kernel, options), setup));
}

const arrays = {
  u32: Uint32Array,
  i32: Int32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f16: Uint16Array,
  f32: Float32Array,
  f64: Float64Array,
  bool: Uint32Array,
} as const;

/** Values as a device's memory holds them; a bool is a word. */
export function dataOf(type: Type, values: readonly Value[]): Data {
  const data = new arrays[type](values.length);
  values.forEach((value, i) => {
    data[i] = (type === 'bool' ? Number(value) : type === 'f16' ? halfBits(value as number) : value) as never;
  });
  return data;
}

/** Returns an element as a value of its type: in memory an f16 is its bits. */
export function elementOf(type: Type, data: Data | undefined, at: number): Value | undefined {
  const element = data?.[at];
  return type === 'f16' && element !== undefined ? halfValue(Number(element)) : element;
}

/** Returns the elements as values: the bits of a NaN are unspecified. */
export const valuesIn = (type: Type, data: Data | undefined): Data | undefined =>
  type === 'f16' && data
    ? Float32Array.from({ length: data.length }, (_, i) => elementOf(type, data, i) as number)
    : data;

export const zeros = (type: Type, length: number): Data => new arrays[type](length);

/** True if the values are the same; all NaNs are equal. */
export function isSameValue(a: Value | undefined, b: Value | undefined): boolean {
  return Object.is(a, b) || (typeof a === 'number' && typeof b === 'number' && Number.isNaN(a) && Number.isNaN(b));
}

/** Formats a value for messages: floats with their exact bits. */
export function formatValue(type: Type, value: Value | undefined): string {
  if (value === undefined) return 'nothing';
  if (type === 'f16') return `${Object.is(value, -0) ? '-0' : value} (bits ${halfBits(value as number).toString(16)})`;
  if (type === 'f32' || type === 'f64') {
    const view = new DataView(new ArrayBuffer(8));
    if (type === 'f32') view.setFloat32(0, value as number);
    else view.setFloat64(0, value as number);
    const bits = type === 'f32' ? view.getUint32(0).toString(16) : view.getBigUint64(0).toString(16);
    return `${Object.is(value, -0) ? '-0' : String(value)} (bits ${bits})`;
  }
  if (type === 'bool') return String(Boolean(value));
  return `${value} (0x${BigInt.asUintN(64, BigInt(value)).toString(16)})`;
}

/** Throws unless the arrays are equal; names the first difference. */
export function expectEqual(
  what: string,
  actual: Data | undefined,
  expected: Data | readonly (number | bigint)[],
): void {
  if (actual === undefined) throw new Error(`${what}: no result`);
  if (actual.length !== expected.length)
    throw new Error(`${what}: expected ${expected.length} values, got ${actual.length}`);
  let wrong = 0;
  let first = '';
  for (let i = 0; i < expected.length; i++) {
    if (isSameValue(actual[i], expected[i])) continue;
    if (wrong++ === 0) first = `[${i}] is ${String(actual[i])}, not ${String(expected[i])}`;
  }
  if (wrong > 0) throw new Error(`${what}: ${wrong} of ${expected.length} values are wrong; ${first}`);
}
