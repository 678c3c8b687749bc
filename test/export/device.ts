import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import koffi from 'koffi';
import { CheckedStream, type StreamCommands } from '../../src/device/checks/checked-stream.js';
import { BaseBuffer, type CheckedLaunch, checkAllocation, deviceClosed } from '../../src/device/checks/launch.js';
import { TrapExplainer } from '../../src/device/checks/traps.js';
import { MarkCompletion } from '../../src/device/completion.js';
import type { CompileOptions, Device, DeviceInfo, HostMemory, Stream } from '../../src/device/device.js';
import { sharedMemory } from '../../src/device/host-memory.js';
import { capabilities, thisCpu } from '../../src/device/native/cpu.js';
import { type LaunchParameters, SourceJob, SourceProgram, sourceOf } from '../../src/device/program.js';
import { runtimeHeader, runtimeSource } from '../../src/export/c/runtime.js';
import { exportC } from '../../src/export/c.js';
import { writeFiles } from '../../src/export/write.js';
import { MillraceError } from '../../src/kernel/error.js';
import {
  type Field,
  type FieldValues,
  fieldValues,
  type Kernel,
  lower,
  lowerGpu,
  type Value,
  wordsOf,
} from '../../src/kernel/index.js';
import { thisArch } from './build.js';

const run = promisify(execFile);

/** The kind of device behind the exported libraries, as `mr_open` names it. */
export type ExportedKind = 'cpu' | 'opencl' | 'cuda';

const KERNEL_FLAGS = [
  '-std=gnu11',
  '-O1',
  '-fno-strict-aliasing',
  '-fwrapv',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-w',
];

/** Compiles the runtime once, as a library that all kernels share. */
export async function buildRuntime(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-exported-'));
  writeFiles(folder, [
    { path: 'millrace_runtime.h', text: runtimeHeader() },
    { path: 'millrace_runtime.c', text: runtimeSource() },
  ]);
  const library = join(folder, 'libruntime.so');
  await run('gcc', [
    '-std=c11',
    '-O2',
    '-g',
    '-shared',
    '-fPIC',
    '-o',
    library,
    join(folder, 'millrace_runtime.c'),
    '-ldl',
    '-lpthread',
  ]);
  return folder;
}

type Handle = bigint;

/** Of all devices: they share a folder. */
let kernelCount = 0;

/** The functions of the runtime that the device calls; handles are numbers. */
function bindRuntime(folder: string) {
  const library = koffi.load(join(folder, 'libruntime.so'));
  const bind = (name: string, result: string, ...types: string[]) =>
    library.func(name, result, types) as (...given: unknown[]) => number;
  const handle = 'uint64_t';
  return {
    open: bind('mr_open', 'int', 'str', 'void *'),
    close: bind('mr_close', 'void', handle),
    error: bind('mr_error', 'str', handle),
    bufferAlloc: bind('mr_buffer_alloc', 'int', handle, handle, 'void *'),
    bufferFree: bind('mr_buffer_free', 'void', handle),
    hostAlloc: bind('mr_host_alloc', 'int', handle, handle, 'void *'),
    hostFree: bind('mr_host_free', 'void', handle, handle),
    streamOpen: bind('mr_stream_open', 'int', handle, 'void *'),
    streamClose: bind('mr_stream_close', 'void', handle),
    write: bind('mr_write', 'int', handle, handle, handle, handle, handle),
    read: bind('mr_read', 'int', handle, handle, handle, handle, handle),
    copy: bind('mr_copy', 'int', handle, handle, handle, handle, handle, handle),
    fill: bind('mr_fill', 'int', handle, handle, 'uint32_t', handle, handle),
    wait: bind('mr_wait', 'int', handle),
    isIdle: bind('mr_is_idle', 'int', handle),
    cancel: bind('mr_cancel', 'int', handle),
    launchJob: bind('mr_launch_job', 'int', handle, handle, 'void *'),
    jobClose: bind('mr_job_close', 'void', handle),
  };
}

const CANCELLED = -7;
const BOUNDS = -9;
const codes: Readonly<Record<number, 'device-memory' | 'device-compile' | 'device-failed'>> = {
  '-2': 'device-memory',
  '-5': 'device-compile',
};

class ExportedBuffer extends BaseBuffer {
  readonly handle: Handle;
  declare readonly device: ExportedDevice;

  constructor(device: ExportedDevice, bytes: number, handle: Handle) {
    super(device, bytes);
    this.handle = handle;
  }

  free(): void {
    if (this.freed) return;
    this.freed = true;
    this.device.afterCommands(() => this.device.api.bufferFree(this.handle));
  }
}

class ExportedProgram extends SourceProgram {
  readonly number: number;
  readonly openJob: (job: FieldValues) => Handle;
  readonly #parameters: (job: FieldValues) => LaunchParameters;

  constructor(
    device: Device,
    source: ReturnType<typeof sourceOf>,
    milliseconds: number,
    number: number,
    openJob: (job: FieldValues) => Handle,
  ) {
    super(device, { close: () => undefined }, source, { milliseconds, cached: false });
    this.number = number;
    this.openJob = openJob;
    this.#parameters = source.parameters;
  }

  bind(job: FieldValues): ExportedJob {
    return new ExportedJob(this, this.#parameters(job), this.openJob(job));
  }
}

class ExportedJob extends SourceJob<ExportedProgram> {
  readonly handle: Handle;

  constructor(program: ExportedProgram, parameters: LaunchParameters, handle: Handle) {
    super(program, parameters);
    this.handle = handle;
  }
}

/**
 * A device whose kernels are exported libraries: each kernel is written as C, compiled by GCC, loaded, and launched through
 * its runtime. Commands run one after the other, each to its end, so that the order is that of the contract.
 */
export class ExportedDevice implements Device {
  readonly info: DeviceInfo;
  readonly api: ReturnType<typeof bindRuntime>;
  readonly handle: Handle;
  readonly traps = new TrapExplainer();
  readonly #kind: ExportedKind;
  readonly #folder: string;
  readonly #streams = new Set<ExportedStream>();
  readonly #libraries: unknown[] = [];
  #closed: MillraceError | undefined;

  /** `folder` has the runtime, and gets the kernels. */
  constructor(kind: ExportedKind, folder: string, info: DeviceInfo) {
    this.#kind = kind;
    this.#folder = folder;
    this.info = info;
    this.api = bindRuntime(folder);
    this.handle = this.made('mr_open', (out) => this.api.open(kind === 'cpu' ? 'cpu:2' : kind, out));
  }

  /** Calls a function that makes something, and returns its handle. */
  made(call: string, make: (out: BigUint64Array) => number): Handle {
    const out = new BigUint64Array(1);
    this.check(call, make(out));
    return out[0]!;
  }

  check(call: string, status: number): void {
    if (status >= 0) return;
    const text = String(this.api.error(this.handle ?? 0n) || this.api.error(0n));
    throw new MillraceError({ code: codes[status] ?? 'device-failed', message: `${call}: ${status}: ${text}` });
  }

  async compile(kernel: Kernel, options: CompileOptions = {}): Promise<ExportedProgram> {
    this.checkOpen();
    const began = performance.now();
    const { lanes = 'auto', hoist = true, nativeBodies = true, checked = false, wide = false, pipes } = options;
    const common = { hoist, nativeBodies, checked };
    const lowered =
      this.#kind === 'cpu'
        ? lower(kernel, { ...common, target: 'c', lanes, wide, cpu: thisCpu(), pipes: pipes ?? 0 })
        : lowerGpu(kernel, { ...common, target: this.#kind, pipes: pipes ?? (this.#kind === 'cuda' ? 'nvidia' : 0) });
    const name = `k${++kernelCount}`;
    const folder = join(this.#folder, name);
    const variants = { ...common, lanes, wide, arch: thisArch, ...(pipes !== undefined && { pipes }) } as const;
    const request = { kernel: { source: name, cpu: { kernel }, gpu: { kernel } }, name, targets: [this.#kind] };
    const files = writeFiles(folder, exportC(request, variants));
    const sources = files.filter((file) => file.endsWith('.c') && !/(millrace_runtime|example)\.c$/.test(file));
    const library = join(folder, 'kernel.so');
    const linked = [join(this.#folder, 'libruntime.so'), `-Wl,-rpath,${this.#folder}`, '-lm'];
    await run('gcc', [...KERNEL_FLAGS, '-shared', '-fPIC', `-I${folder}`, '-o', library, ...sources, ...linked]);
    this.checkOpen();
    const source = sourceOf(lowered);
    const arguments_ = ['uint64_t', ...(source.job.length > 0 ? ['void *'] : []), 'void *'];
    const loaded = koffi.load(library);
    this.#libraries.push(loaded); // koffi unloads a library that nothing refers to, with its tables
    const open = loaded.func(`${name}_params_from_job`, 'int', arguments_) as (...given: unknown[]) => number;
    const openJob = (values: FieldValues): Handle => {
      const given = source.job.length > 0 ? [packed(source.name, 'job', source.job, values)] : [];
      return this.made('params_from_job', (out) => open(this.handle, ...given, out));
    };
    const number = this.traps.add({ name: source.name, sites: source.sites });
    // The driver's compiler runs when the first job is opened: a refusal belongs to compile(). Zeros are values of all types.
    const zeros = Object.fromEntries(source.job.map((field) => [field.name, zerosOf(field)]));
    this.api.jobClose(openJob(zeros));
    return new ExportedProgram(this, source, performance.now() - began, number, openJob);
  }

  async alloc(bytes: number): Promise<ExportedBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    const handle = this.made('mr_buffer_alloc', (out) => this.api.bufferAlloc(this.handle, bytes, out));
    return new ExportedBuffer(this, bytes, handle);
  }

  async host(bytes: number): Promise<HostMemory> {
    this.checkOpen();
    return sharedMemory(bytes);
  }

  stream(): Stream {
    this.checkOpen();
    const own = new ExportedStream(this, () => this.#streams.delete(own));
    this.#streams.add(own);
    return new CheckedStream(this, ExportedJob, own);
  }

  /** Runs an action when the commands queued so far on all streams have run. */
  afterCommands(action: () => void): void {
    void Promise.all([...this.#streams].map((stream) => stream.idle)).then(() => {
      if (!this.#closed) action();
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = deviceClosed(this);
    await Promise.all([...this.#streams].map((stream) => stream.abandon(this.#closed!)));
    this.api.close(this.handle);
  }

  checkOpen(): void {
    if (this.#closed) throw this.#closed;
  }
}

type Command = () => Promise<void> | void;

/** The commands of a stream, run one at a time. */
class ExportedStream implements StreamCommands<ExportedBuffer, ExportedJob, MarkCompletion> {
  readonly #device: ExportedDevice;
  readonly #handle: Handle;
  readonly #gone: () => void;
  /** Settles when everything queued so far has run. */
  idle: Promise<void> = Promise.resolve();
  #epoch = 0;
  #isComplete = true;
  #failure: unknown;
  #startedNs: bigint | undefined;
  #isAbandoned = false;
  readonly #open = new Set<MarkCompletion>();

  constructor(device: ExportedDevice, gone: () => void) {
    this.#device = device;
    this.#gone = gone;
    this.#handle = device.made('mr_stream_open', (out) => device.api.streamOpen(device.handle, out));
  }

  write({ handle }: ExportedBuffer, offset: number, data: ArrayBufferView): void {
    this.#queue(() =>
      this.#staged(data.byteLength, async (memory, address) => {
        memory.set(bytesOf(data));
        await this.#command('mr_write', this.#device.api.write(this.#handle, handle, offset, address, data.byteLength));
      }),
    );
  }

  read({ handle }: ExportedBuffer, offset: number, into: ArrayBufferView): void {
    this.#queue(() =>
      this.#staged(into.byteLength, async (memory, address) => {
        await this.#command('mr_read', this.#device.api.read(this.#handle, handle, offset, address, into.byteLength));
        bytesOf(into).set(memory);
      }),
    );
  }

  copy(from: ExportedBuffer, fromOffset: number, to: ExportedBuffer, toOffset: number, bytes: number): void {
    const { api } = this.#device;
    this.#queue(() =>
      this.#command('mr_copy', api.copy(this.#handle, from.handle, fromOffset, to.handle, toOffset, bytes)),
    );
  }

  fill({ handle }: ExportedBuffer, offset: number, word: number, bytes: number): void {
    this.#queue(() => this.#command('mr_fill', this.#device.api.fill(this.#handle, handle, word, offset, bytes)));
  }

  launch({ program, handle }: ExportedJob, chunk: FieldValues, launch: CheckedLaunch<ExportedBuffer>): void {
    const values = packed(program.name, 'chunk', program.chunk, chunk);
    const { base, count, countFrom, buffers, ring } = launch;
    const epoch = this.#epoch;
    this.#queue(async () => {
      if (this.#epoch !== epoch) {
        this.#isComplete = false;
        return;
      }
      const list = BigUint64Array.from(buffers, ({ handle: buffer }) => buffer);
      const words = BigUint64Array.from([
        values.length > 0 ? addressOf(values) : 0n,
        base,
        BigInt(count),
        list.length > 0 ? addressOf(list) : 0n,
        BigInt(list.length),
        ring?.handle ?? 0n,
        countFrom?.buffer.handle ?? 0n,
        BigInt(countFrom?.word ?? 0),
      ]);
      await this.#command('mr_launch_job', this.#device.api.launchJob(this.#handle, handle, words), program);
    });
  }

  wait(completion: MarkCompletion): void {
    this.#queue(async () => {
      await completion.done.catch(() => undefined);
    });
  }

  mark(waited: readonly MarkCompletion[]): MarkCompletion {
    const completion = new MarkCompletion(this.#device, waited);
    this.#open.add(completion);
    this.idle = this.idle.then(() => {
      if (!this.#open.delete(completion)) return;
      const endedNs = process.hrtime.bigint();
      if (this.#failure !== undefined) completion.reject(this.#failure);
      else completion.resolve({ startedNs: this.#startedNs ?? endedNs, endedNs, complete: this.#isComplete });
      this.#failure = undefined;
      this.#isComplete = true;
      this.#startedNs = undefined;
    });
    return completion;
  }

  cancel(): void {
    this.#epoch++;
    this.#device.check('mr_cancel', this.#device.api.cancel(this.#handle));
  }

  close(): void {
    this.idle = this.idle.then(() => {
      if (this.#isAbandoned) return;
      this.#device.api.streamClose(this.#handle);
      this.#gone();
    });
  }

  /** Stops the work in flight and fails its marks. */
  async abandon(error: MillraceError): Promise<void> {
    this.#isAbandoned = true;
    this.#epoch++;
    for (const completion of this.#open) completion.reject(error);
    this.#open.clear();
    this.#device.api.cancel(this.#handle);
    await this.idle;
  }

  /** Behind a failed command nothing runs until the mark. */
  #queue(command: Command): void {
    this.idle = this.idle.then(async () => {
      if (this.#isAbandoned || this.#failure !== undefined) return;
      this.#startedNs ??= process.hrtime.bigint();
      try {
        await command();
      } catch (error) {
        this.#failure ??= error;
      }
    });
  }

  /** Waits for a command without blocking this thread: its cancel() may come from here. */
  async #command(call: string, queued: number, program?: ExportedProgram): Promise<void> {
    const { api } = this.#device;
    this.#device.check(call, queued);
    for (let tries = 0; ; tries++) {
      const idle = Number(api.isIdle(this.#handle));
      this.#device.check('mr_is_idle', idle);
      if (idle === 1) break;
      await new Promise((resolve) => (tries < 20 ? setImmediate(resolve) : setTimeout(resolve, 1)));
    }
    const status = Number(api.wait(this.#handle));
    if (status === CANCELLED) this.#isComplete = false;
    else if (status === BOUNDS && program) throw this.#trap(program);
    else this.#device.check('mr_wait', status);
  }

  #trap(program: ExportedProgram): MillraceError {
    const text = String(this.#device.api.error(0n));
    const [site = 0, index = 0, length = 0] = [...text.matchAll(/(?:access|index|are) (\d+)/g)].map(([, digits]) =>
      Number(digits),
    );
    return this.#device.traps.explain(this.#device.info.id, program.number, { site, index, length });
  }

  /** Page-locked memory for one transfer. */
  async #staged(bytes: number, use: (memory: Uint8Array, address: bigint) => Promise<void>): Promise<void> {
    const { api, handle } = this.#device;
    const address = this.#device.made('mr_host_alloc', (out) => api.hostAlloc(handle, bytes, out));
    try {
      await use(new Uint8Array(koffi.view(address, bytes)), address);
    } finally {
      if (!this.#isAbandoned) api.hostFree(handle, address);
    }
  }
}

/** Reading `.buffer` moves a small array off V8's heap, where the collector would move it. */
function addressOf(view: Uint8Array | BigUint64Array): bigint {
  void view.buffer;
  return koffi.address(view);
}

const bytesOf = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

const zerosOf = ({ type, length, array }: Field): Value | Value[] => {
  const zero = type === 'u64' || type === 'i64' ? 0n : type === 'bool' ? false : 0;
  return array ? Array<Value>(length).fill(zero) : zero;
};

/** The bytes of a C struct with these fields. */
function packed(kernel: string, kind: 'job' | 'chunk', fields: readonly Field[], values: FieldValues): Uint8Array {
  const lists = fieldValues(kernel, kind, fields, values);
  const sizes = fields.map(({ type }) => 4 * wordsOf(type));
  const align = (at: number, size: number): number => Math.ceil(at / size) * size;
  const end = fields.reduce((at, { length }, i) => align(at, sizes[i]!) + length * sizes[i]!, 0);
  const bytes = new Uint8Array(align(end, 8));
  const view = new DataView(bytes.buffer);
  let at = 0;
  fields.forEach(({ type }, i) => {
    at = align(at, sizes[i]!);
    for (const value of lists[i]!) {
      if (type === 'u64' || type === 'i64') view.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
      else if (type === 'f64') view.setFloat64(at, Number(value), true);
      else if (type === 'f32' || type === 'f16') view.setFloat32(at, Number(value), true);
      else if (type === 'i32') view.setInt32(at, Number(value), true);
      else view.setUint32(at, Number(value), true);
      at += sizes[i]!;
    }
  });
  return bytes;
}

/** A description like that of the device behind the library, so that the suite expects the same of it. */
export function describeExported(kind: ExportedKind, behind?: DeviceInfo): DeviceInfo {
  const cpu = thisCpu();
  const own = { cpu: 'native', opencl: 'opencl', cuda: 'cuda' } as const;
  return {
    id: kind === 'cpu' ? 'native' : `${kind}:0`,
    kind: own[kind],
    processor: 'cpu',
    name: `exported ${kind}`,
    memoryBytes: behind?.memoryBytes ?? cpu.memoryBytes,
    units: 2,
    capabilities:
      behind?.capabilities ?? (kind === 'cpu' ? capabilities(cpu) : ['u64', 'f64', 'exact-floats', 'atomics']),
    limits: behind?.limits ?? { bufferBytes: kind === 'cuda' ? 2 ** 30 : cpu.memoryBytes, lanes: 16 },
    versions: {},
  };
}

export const removeRuntime = (folder: string): void => rmSync(folder, { recursive: true, force: true });
