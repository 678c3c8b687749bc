import { balancedGridSize, type GridBindingKind, type GridShape, gridSize } from '../../kernel/abi/grid.js';
import { MillraceError } from '../../kernel/error.js';
import { OutParameters } from '../gpu/native/api.js';
import type { NativeProgram } from '../gpu/native/driver.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import { addressOf } from '../native/libc.js';
import type { Memory } from './memory.js';
import type { CommandQueue, Event } from './queue.js';
import { CL } from './runtime/api.js';
import { fromBinary, fromText } from './runtime/compile.js';
import type { Context } from './runtime/context.js';

/** Memory handles that a launch passes besides the kernel's own buffers. */
export interface LaunchHandles {
  /** The launch block, if it is not passed by value. */
  readonly block: number;
  /** 0 if there is none. */
  readonly counted: number;
  readonly cancel: number;
  readonly status: number;
  readonly buffers: readonly Memory[];
}

/** Threads that a GPU's compute unit holds at a time: NVIDIA's from Volta on. Other GPUs get a second wave, or less. */
const UNIT_THREADS = 2048;
/** Workgroups per CPU core: some more than one, so that no core waits long for another. */
const CORE_GROUPS = 4;

/** A kernel, ready to be launched. Platforms copy arguments at the launch, so one set serves all launches. */
export class OpenClProgram implements NativeProgram<Memory> {
  readonly number: number;
  readonly name: string;
  readonly shape: GridShape;
  readonly tables: Memory | undefined;
  /** True if the platform accepted the binary. */
  readonly fromBinary: boolean;
  /** Workgroups of a launch: as many as run at a time. */
  readonly maxGroups: number;
  /** On a CPU: the time of an item, if known. */
  itemNs: number | undefined;
  readonly #context: Context;
  readonly #program: number;
  readonly #kernel: number;
  readonly #out = new OutParameters();
  /** Arguments as last set; -1: not since the last release. */
  readonly #arguments: number[];
  #released = 0;

  /** Takes some 20 ms from a binary; seconds from text, which is for platforms that refuse their own binaries. */
  constructor(context: Context, source: GpuSource, tables: Memory | undefined) {
    const { api, errors, device } = context;
    const { shape, number, name, binary, text } = source;
    this.number = number;
    this.name = name;
    this.shape = shape;
    this.tables = tables;
    this.#context = context;
    this.#arguments = shape.bindings.map(() => -1);
    const options = shape.compilerOptions;
    const ready = binary && fromBinary(context, binary, options);
    this.fromBinary = ready !== undefined;
    this.#program = ready ?? fromText(context, text, options);
    this.#kernel = api.clCreateKernel(this.#program, shape.entry, this.#out.address);
    if (this.#out.int() !== 0) api.clReleaseProgram(this.#program);
    errors.check('clCreateKernel', this.#out.int(), `loading kernel ${name}`);
    try {
      this.#checkWorkgroup();
    } catch (error) {
      this.unload();
      throw error;
    }
    const perUnit = device.isCpu ? CORE_GROUPS : Math.max(1, Math.floor(UNIT_THREADS / shape.workgroup));
    this.maxGroups = device.units * perUnit;
  }

  launch(queue: CommandQueue, count: number, block: Uint32Array, handles: LaunchHandles): Event {
    const { shape, tables } = this;
    const handleOf = (kind: GridBindingKind): number | undefined => {
      if (kind === 'launch') return handles.block;
      if (kind === 'tables') return tables?.device;
      return kind === 'counted' || kind === 'cancel' || kind === 'status' ? handles[kind] : undefined;
    };
    const released = this.#context.released();
    if (released !== this.#released) this.#arguments.fill(-1);
    this.#released = released;
    let buffer = 0;
    for (const [i, { kind }] of shape.bindings.entries()) {
      if (kind === 'launch' && shape.launch.byValue) this.#value(i, block);
      else this.#argument(i, handleOf(kind) ?? handles.buffers[buffer++]?.device ?? 0);
    }
    return queue.kernel(
      this.#kernel,
      this.#context.device.isCpu
        ? gridSize(shape, count, this.maxGroups)
        : balancedGridSize(shape, count, this.maxGroups),
      shape.workgroup,
      () => `a launch of kernel ${this.name}`,
    );
  }

  unload(): void {
    this.#context.api.clReleaseKernel(this.#kernel);
    this.#context.api.clReleaseProgram(this.#program);
  }

  #value(index: number, words: Uint32Array): void {
    // SAFETY: the struct of the text has as many words; the platform copies them during the call.
    const code = this.#context.api.clSetKernelArg(this.#kernel, index, words.byteLength, addressOf(words));
    this.#context.errors.check('clSetKernelArg', code, `the values of kernel ${this.name}`);
  }

  #argument(index: number, handle: number): void {
    if (this.#arguments[index] === handle) return;
    // SAFETY: a handle of 8 bytes to memory that the main thread holds until the launch is done; a null address is a
    // null pointer for the kernel.
    const value = handle === 0 ? 0 : this.#out.put(handle);
    const code = this.#context.api.clSetKernelArg(this.#kernel, index, 8, value);
    this.#context.errors.check('clSetKernelArg', code, `argument ${index} of kernel ${this.name}`);
    this.#arguments[index] = handle;
  }

  /** Kernels with many values need more registers than large workgroups have. */
  #checkWorkgroup(): void {
    const { api, device } = this.#context;
    const asked = api.clGetKernelWorkGroupInfo(
      this.#kernel,
      device.handle,
      CL.KERNEL_WORK_GROUP_SIZE,
      8,
      this.#out.address,
      0,
    );
    const { workgroup } = this.shape;
    if (asked !== 0 || this.#out.wide() >= workgroup) return;
    throw new MillraceError({
      code: 'kernel-budget',
      message: `kernel ${this.name}: a workgroup has at most ${this.#out.wide()} threads on opencl:${device.number}`,
      asked: `workgroups of ${workgroup} threads`,
      advice: 'compile it with fewer `lanes`',
    });
  }
}
