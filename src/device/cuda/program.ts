import type { GridShape } from '../../kernel/abi/grid.js';
import { balancedGridSize } from '../../kernel/abi/grid.js';
import { OutParameters } from '../gpu/native/api.js';
import type { NativeProgram } from '../gpu/native/driver.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import { addressOf, preservingSignals } from '../native/libc.js';
import type { Memory } from './memory.js';
import { Cuda, type CudaApi, cString } from './runtime/api.js';
import type { CudaErrors } from './runtime/errors.js';
import type { Gpu } from './runtime/info.js';

/** Addresses that a launch passes besides its block. */
export interface LaunchAddresses {
  /** The block in device memory, if it is not passed by value. */
  readonly block: number;
  readonly counted: number;
  readonly cancel: number;
  readonly status: number;
  readonly buffers: readonly Memory[];
}

/**
 * A loaded kernel with the memory of its arguments. The driver copies arguments during the call, so one set serves all
 * launches of the program.
 */
export class CudaProgram implements NativeProgram<Memory> {
  readonly number: number;
  readonly name: string;
  readonly shape: GridShape;
  readonly tables: Memory | undefined;
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #module: number;
  /** The driver's handle of the entry function. */
  readonly handle: number;
  /** Workgroups that the whole GPU holds at a time. */
  readonly residentGroups: number;
  /** The share of the GPU's thread capacity that these occupy, 0 to 1. */
  readonly occupancy: number;
  readonly registers: number;
  readonly localBytes: number;
  /** The block, if passed by value. Otherwise, and for all other arguments, an address each. */
  readonly #block: Uint32Array;
  readonly #values: Uint32Array;
  readonly #pointers: BigUint64Array;
  readonly #pointersAt: number;

  /** Throws if the driver rejects the binary. */
  constructor(
    api: CudaApi,
    errors: CudaErrors,
    { multiprocessors: units, threadsPerMultiprocessor }: Pick<Gpu, 'multiprocessors' | 'threadsPerMultiprocessor'>,
    source: GpuSource,
    tables: Memory | undefined,
  ) {
    const { name, shape, number } = source;
    this.number = number;
    this.name = name;
    this.shape = shape;
    this.tables = tables;
    this.#api = api;
    this.#errors = errors;
    const out = new OutParameters();
    const image = zeroTerminated(source.binary ?? new Uint8Array());
    // SAFETY: the image is a whole cubin (its digest was checked) or PTX text with a zero after it; the driver copies
    // it.
    const loaded = preservingSignals(() => api.cuModuleLoadData(out.address, addressOf(image)));
    errors.check('cuModuleLoadData', loaded, `loading kernel ${name}`);
    this.#module = out.wide();
    try {
      this.handle = this.#entry(shape, out);
      const attribute = (which: number): number => {
        errors.check('cuFuncGetAttribute', api.cuFuncGetAttribute(out.address, which, this.handle), `kernel ${name}`);
        return out.int();
      };
      this.registers = attribute(Cuda.functionRegisters);
      this.localBytes = attribute(Cuda.functionLocalBytes);
      const fits = api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        out.address,
        this.handle,
        shape.workgroup,
        shape.dynamicBytes,
      );
      errors.check('cuOccupancyMaxActiveBlocksPerMultiprocessor', fits, `kernel ${name}`);
      this.residentGroups = Math.max(1, out.int()) * units;
      this.occupancy = Math.min(1, (this.residentGroups * shape.workgroup) / (units * threadsPerMultiprocessor));
    } catch (error) {
      this.unload();
      throw error;
    }
    const { bindings, launch } = shape;
    this.#block = new Uint32Array(launch.byValue ? launch.words : 0);
    this.#values = new Uint32Array(2 * bindings.length);
    const valuesAt = addressOf(this.#values);
    this.#pointers = BigUint64Array.from(bindings, (_, i) => BigInt(valuesAt + 8 * i));
    if (launch.byValue) this.#pointers[0] = BigInt(addressOf(this.#block));
    this.#pointersAt = addressOf(this.#pointers);
  }

  /** Returns the number of workgroups for `count` items. */
  groups(count: number): number {
    return balancedGridSize(this.shape, count, this.residentGroups);
  }

  launch(stream: number, count: number, block: Uint32Array, addresses: LaunchAddresses): void {
    const { shape } = this;
    if (shape.launch.byValue) this.#block.set(block);
    let at = 0;
    this.#setArgument(at++, addresses.block);
    this.#setArgument(at++, addresses.counted);
    this.#setArgument(at++, addresses.cancel);
    this.#setArgument(at++, addresses.status);
    if (this.tables) this.#setArgument(at++, this.tables.device);
    for (const { device } of addresses.buffers) this.#setArgument(at++, device);
    // SAFETY: pointers and values are this object's and do not move; their number and sizes are those of the text that
    // `shape` was made with; the buffers are held by the main thread until the launch is done.
    const code = this.#api.cuLaunchKernel(
      this.handle,
      this.groups(count),
      1,
      1,
      shape.workgroup,
      1,
      1,
      shape.dynamicBytes,
      stream,
      this.#pointersAt,
      0,
    );
    this.#errors.check('cuLaunchKernel', code, `a launch of kernel ${this.name}`);
  }

  /** Writes two words, since a bigint costs more than all the rest. */
  #setArgument(at: number, address: number): void {
    this.#values[2 * at] = address; // modulo 2^32
    this.#values[2 * at + 1] = address / 2 ** 32;
  }

  unload(): void {
    this.#api.cuModuleUnload(this.#module);
  }

  #entry({ entry, dynamicBytes }: GridShape, out: OutParameters): number {
    const doing = `kernel ${this.name}`;
    const text = cString(entry);
    // SAFETY: the name ends with a zero and outlives the call.
    const found = this.#api.cuModuleGetFunction(out.address, this.#module, addressOf(text));
    this.#errors.check('cuModuleGetFunction', found, doing);
    const address = out.wide();
    if (dynamicBytes > 0) {
      const set = this.#api.cuFuncSetAttribute(address, Cuda.functionDynamicShared, dynamicBytes);
      this.#errors.check('cuFuncSetAttribute', set, `${doing}, ${dynamicBytes} bytes of workgroup memory`);
    }
    return address;
  }
}

/** PTX is text, which C ends with a zero; after a cubin the zero does no harm. */
function zeroTerminated(binary: Uint8Array): Uint8Array {
  const image = new Uint8Array(binary.length + 1);
  image.set(binary);
  return image;
}
