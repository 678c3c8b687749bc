import type { GpuOptions } from '../../../kernel/abi/lower-gpu.js';
import { MillraceError } from '../../../kernel/error.js';
import { type GpuTarget, type Kernel, type LoweredGpuKernel, lowerGpu } from '../../../kernel/index.js';
import { compileError } from '../../checks/compile-error.js';
import { checkAllocation, deviceClosed } from '../../checks/launch.js';
import { TrapExplainer } from '../../checks/traps.js';
import type {
  CompileOptions,
  Device,
  DeviceBuffer,
  DeviceInfo,
  DeviceTelemetry,
  HostMemory,
  Sensors,
  Stream,
} from '../../device.js';
import { Residents } from '../resident/residents.js';
import { LAUNCH_WORDS } from '../wire/commands.js';
import { MAX_RECORD_WORDS } from '../wire/ring.js';
import { CompileRefusal, type GpuSource } from '../worker/driver.js';
import { GpuBuffer } from './buffer.js';
import type { Link } from './link.js';
import { GpuCode, GpuProgram } from './program.js';
import { Streams } from './streams.js';

export { type Link, type LinkOptions, openLink } from './link.js';

/** The output of a runtime's compiler, if it compiles outside the device's worker. */
export interface BuildResult {
  readonly binary?: Uint8Array;
  readonly cached: boolean;
}

/** Buffers are multiples of four words, so that a kernel can move 16 bytes at a time. */
const ALIGN_BYTES = 16;
/** The most buffers assumed for a launch: the rest of a record is for its parameters. */
const MAX_BUFFERS = 256;

/**
 * The common part of devices with a driver in a worker.
 *
 *   class CudaDevice extends GpuDevice { … }
 *   export const open = async (id, options = {}) => new CudaDevice(await openLink({ … }), addressOf);
 */
export abstract class GpuDevice implements Device {
  readonly info: DeviceInfo;
  readonly #link: Link;
  readonly #streams: Streams;
  readonly #traps = new TrapExplainer();
  readonly #bytesAt: ((address: number, bytes: number) => Uint8Array) | undefined;
  /** Runtime memory that was dropped without `free`. It is released once no view of it is left. */
  readonly #droppedHostMemory = new FinalizationRegistry<number>((number) => this.#freeHost(number));
  #end: { readonly error: MillraceError; readonly done: Promise<void> } | undefined;

  /**
   * `addressOf`: how the worker accesses the host's arrays; without it they are copied through shared memory.
   * `bytesAt`: how this thread accesses memory of the runtime, for runtimes whose `lock` returns that. `info`: for
   * devices that know more than the driver reports.
   */
  constructor(
    link: Link,
    addressOf?: (view: ArrayBufferView) => number,
    bytesAt?: (address: number, bytes: number) => Uint8Array,
    info = link.info,
  ) {
    this.#bytesAt = bytesAt;
    this.info = info;
    this.#link = link;
    const explain = this.#traps.explain.bind(this.#traps, this.info.id);
    this.#streams = new Streams({
      device: this,
      link,
      addressOf,
      explain,
      expectStaging: (bytes) => link.expectStaging(bytes),
    });
    this.residents = new Residents({
      device: this,
      link,
      load: async (lowered) => {
        this.checkOpen();
        return (await this.#load(lowered)).number;
      },
    });
    link.attach({
      boardChanged: () => {
        const isBusy = this.#streams.processResults();
        return this.residents.processFlags() || isBusy;
      },
      gridEnded: (number, error) => this.residents.gridEnded(number, error),
      markFailed: (line, mark, error) => this.#streams.markFailed(line, mark, error),
      failed: (error) => void this.#finish(error),
    });
  }

  /** Resident grids, for devices that have them. */
  protected readonly residents: Residents;
  protected abstract readonly target: GpuTarget;
  /** Bytes of workgroup memory; undefined for the amount that every device of the target has. */
  protected abstract readonly nearLimit: number | undefined;
  /** The default number of threads of a workgroup. */
  protected abstract workgroup(kind: Kernel['kind']): number;
  /** The default share of the multiply-add pipe. */
  protected get pipes(): 0 | 'nvidia' {
    return 0;
  }
  /** True if OpenCL's compiler accepts inline PTX. */
  protected get inlinePtx(): boolean {
    return false;
  }
  /** True if kernels may use subgroups; see `GpuOptions`. */
  protected get subgroups(): boolean {
    return false;
  }
  /** Throws `device-capability` if the device lacks what the kernel needs. */
  protected checkSupported(_lowered: LoweredGpuKernel): void {}
  /** Compiles outside the worker, before the driver loads the result; returns no binary if the driver compiles itself. */
  protected abstract build(source: GpuSource): Promise<BuildResult>;

  async compile(kernel: Kernel, options: CompileOptions = {}): Promise<GpuProgram> {
    this.checkOpen();
    const started = performance.now();
    const { lanes = 'auto' } = options;
    const workgroup = lanes === 'auto' ? this.workgroup(kernel.kind) : this.#workgroup(kernel, lanes);
    const { target, nearLimit, pipes, inlinePtx, subgroups } = this;
    const asked = gpuOptionsOf(
      { target, workgroup, pipes, inlinePtx, subgroups, ...(nearLimit === undefined ? {} : { nearLimit }) },
      kernel.untrusted ? { ...options, checked: true } : options,
    );
    const lowered = lowerGpu(kernel, asked);
    this.checkSupported(lowered);
    const { number, cached, occupancy } = await this.#load(lowered);
    this.checkOpen();
    const compiled = { milliseconds: performance.now() - started, cached };
    const code = new GpuCode(number, (loaded) => this.#unload(loaded));
    return new GpuProgram(this, code, lowered, compiled, { kernel, options: asked, occupancy });
  }

  #unload(number: number): void {
    this.#traps.remove(number);
    if (!this.#end) this.#streams.freeProgram(number);
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    const number = this.#streams.nextMemoryNumber();
    const pointer = await this.#link.call('alloc', {
      number,
      bytes: Math.max(1, Math.ceil(bytes / ALIGN_BYTES)) * ALIGN_BYTES,
    });
    return this.#buffer(bytes, number, pointer);
  }

  /** Implements `Device.adopt` for devices whose driver supports it. */
  protected async adoptMemory(pointer: number, bytes: number): Promise<DeviceBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    if (!Number.isSafeInteger(pointer) || pointer <= 0 || pointer % ALIGN_BYTES !== 0 || bytes % ALIGN_BYTES !== 0) {
      throw new MillraceError({
        code: 'launch-arguments',
        message: `kernels cannot use ${bytes} bytes at address ${pointer}`,
        asked: `adopt(${pointer}, ${bytes})`,
        advice: `give a device pointer and a size that are multiples of ${ALIGN_BYTES}`,
      });
    }
    const number = this.#streams.nextMemoryNumber();
    await this.#link.call('adopt', { number, pointer, bytes });
    return this.#buffer(bytes, number, pointer);
  }

  #buffer(bytes: number, number: number, pointer: number | undefined): GpuBuffer {
    const free = (): void => {
      if (!this.#end) this.#streams.freeMemory(number);
    };
    return new GpuBuffer(this, bytes, number, () => this.residents.release(number, free), pointer);
  }

  stream(): Stream {
    this.checkOpen();
    return this.#streams.open();
  }

  /** How many streams are open, and the most that may be. */
  get streams(): { readonly open: number; readonly max: number } {
    return { open: this.#streams.count, max: this.#link.maxStreams };
  }

  async host(bytes: number): Promise<HostMemory> {
    this.checkOpen();
    const number = this.#streams.nextMemoryNumber();
    const { locked, shared, address = 0 } = await this.#link.call('host', { number, bytes });
    const own = shared ?? this.#bytesAt?.(address, bytes);
    if (own === undefined) throw new TypeError('the driver returned memory that the main thread cannot access');
    // Each allocation from a region comes in its own message, and so as its own ArrayBuffer, which identifies it in
    // transfers.
    const { buffer } = own;
    this.#streams.addHost(buffer, number);
    if (shared) return { bytes: own, locked, free: () => this.#freeHost(this.#streams.removeHost(buffer)) };
    this.#droppedHostMemory.register(buffer, number, buffer);
    const free = (): void => {
      // Reading unmapped memory would end the process, so views are detached first. If that fails, the memory stays
      // until they are garbage collected.
      if (this.#streams.removeHost(buffer) === undefined || !detach(buffer)) return;
      this.#droppedHostMemory.unregister(buffer);
      this.#freeHost(number);
    };
    return { bytes: own, locked, free };
  }

  async sensors(): Promise<Sensors | undefined> {
    this.checkOpen();
    return this.#link.call('sensors', undefined);
  }

  async telemetry(): Promise<DeviceTelemetry> {
    this.checkOpen();
    return this.#link.call('telemetry', undefined);
  }

  async streamHandles(): Promise<readonly number[]> {
    this.checkOpen();
    return this.#link.call('handles', undefined);
  }

  close(): Promise<void> {
    return this.#finish(deviceClosed(this));
  }

  checkOpen(): void {
    if (this.#end) throw this.#end.error;
  }

  /**
   * Compiles the kernel and has the driver load it. `number` identifies it to the driver; `cached`: it was in the
   * cache.
   */
  async #load(lowered: LoweredGpuKernel): Promise<LoadedProgram> {
    checkParameters(lowered);
    const { text, shape, program, sites } = lowered;
    const number = this.#traps.add({ name: program.name, sites });
    const source: GpuSource = { number, name: program.name, text, shape };
    try {
      const { binary, cached } = await this.build(source);
      this.checkOpen();
      const occupancy = await this.#link.call('load', binary ? { ...source, binary } : source);
      return { number, cached, occupancy };
    } catch (cause) {
      this.#traps.remove(number);
      if (!(cause instanceof CompileRefusal)) throw cause;
      const { compiler, line, message: error } = cause;
      throw compileError(
        { name: program.name, text, lineOrigins: lowered.lineOrigins },
        {
          compiler,
          error,
          line,
          asked: `compiling ${program.name} for workgroups of ${shape.workgroup} on ${this.info.id}`,
          advice: 'this is a bug in Millrace or in the compiler: please report it with the kernel',
        },
      );
    }
  }

  #freeHost(number: number | undefined): void {
    if (number !== undefined && !this.#end) this.#streams.freeHost(number);
  }

  #workgroup({ name }: Kernel, lanes: number): number {
    if (lanes <= this.info.limits.lanes) return lanes;
    throw new MillraceError({
      code: 'device-capability',
      message: `kernel ${name}: a workgroup cannot have ${lanes} threads on ${this.info.id}`,
      asked: `lanes: ${lanes}`,
      advice: `give a power of two up to ${this.info.limits.lanes}, or 'auto'`,
    });
  }

  /** Fails the work in flight and ends the worker, which frees everything. */
  #finish(error: MillraceError): Promise<void> {
    this.#end ??= { error, done: this.#shutDown(error) };
    return this.#end.done;
  }

  async #shutDown(error: MillraceError): Promise<void> {
    this.#streams.processResults(); // work that finished in time counts
    this.residents.processFlags();
    this.residents.fail(error);
    this.#streams.fail(error);
    await this.#link.stop(error);
  }
}

/**
 * Detaches all views of a buffer; false if that is impossible. A byte stream takes over the memory that it is given.
 * `structuredClone` copies memory of native libraries instead, and `ArrayBuffer.transfer` came with Node 22.
 */
function detach(buffer: ArrayBufferLike): boolean {
  if (!(buffer instanceof ArrayBuffer)) return false;
  new ReadableStream({ type: 'bytes', start: (controller) => controller.enqueue(new Uint8Array(buffer)) });
  return buffer.byteLength === 0;
}

/** Combines the caller's options with the device's defaults. */
export function gpuOptionsOf(own: GpuOptions, options: CompileOptions): GpuOptions {
  const { hoist = true, nativeBodies = true, checked = false, pipes = own.pipes ?? 0 } = options;
  return { ...own, hoist, nativeBodies, checked, pipes };
}

interface LoadedProgram {
  readonly number: number;
  readonly cached: boolean;
  readonly occupancy: number | undefined;
}

/** A launch's block is sent through the command ring, so its size is limited. */
function checkParameters({ program, shape }: LoweredGpuKernel): void {
  const capacity = MAX_RECORD_WORDS - LAUNCH_WORDS - MAX_BUFFERS;
  if (shape.launch.words <= capacity) return;
  throw new MillraceError({
    code: 'kernel-budget',
    message: `kernel ${program.name}: its job and chunk values take ${shape.launch.words} words, more than ${capacity}`,
    asked: `kernel ${program.name}`,
    advice: 'pass large tables as buffers',
  });
}
