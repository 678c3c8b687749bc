import { MillraceError } from '../../kernel/error.js';
import { formatBytes, formatCount } from '../checks/launch.js';
import { OutParameters } from '../gpu/native/api.js';
import type { DeviceMemoryPool, NativeMemory } from '../gpu/native/line.js';
import { Cuda, type CudaApi } from './runtime/api.js';
import type { CudaErrors } from './runtime/errors.js';

/** Device memory, identified by its pointer. */
export type Memory = NativeMemory;

/** Querying free memory takes some 20 µs; below this size an error of the driver reports it soon enough. */
const QUERY_FROM_BYTES = 2 ** 20;

/**
 * Allocations, zeroed in the order of one stream. They come from the driver's pool if it has one: freeing then does not
 * wait for the whole device, as `cuMemFree` does.
 */
export class DeviceMemory implements DeviceMemoryPool<Memory> {
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #stream: number;
  readonly #pool: number | undefined;
  readonly #total: number;
  readonly #out = new OutParameters();
  readonly #allocated = new Map<number, Memory>();
  #used = 0;
  /** Incremented when `stream` gets a command that other streams must wait for. */
  commandCount = 0;

  constructor(api: CudaApi, errors: CudaErrors, stream: number, pool: number | undefined, total: number) {
    this.#api = api;
    this.#errors = errors;
    this.#stream = stream;
    this.#pool = pool;
    this.#total = total;
  }

  alloc(bytes: number): Memory {
    if (bytes >= QUERY_FROM_BYTES && bytes > this.#free()) {
      this.#trim();
      if (bytes > this.#free()) throw this.#outOfMemory(bytes);
    }
    let code = this.#allocate(bytes);
    if (code === Cuda.outOfMemory && this.#pool !== undefined) {
      this.#trim();
      code = this.#allocate(bytes);
    }
    if (code === Cuda.outOfMemory) throw this.#outOfMemory(bytes);
    this.#errors.check(this.#pool === undefined ? 'cuMemAlloc' : 'cuMemAllocAsync', code, `alloc(${bytes})`);
    const memory: Memory = { device: this.#out.wide(), bytes };
    this.#allocated.set(memory.device, memory);
    this.#used += bytes;
    // SAFETY: inside what was just allocated; `commandCount` makes all streams wait for it.
    const zeroed = this.#api.cuMemsetD8Async(memory.device, 0, bytes, this.#stream);
    this.commandCount++;
    this.#errors.check('cuMemsetD8Async', zeroed, `zeroing ${bytes} bytes`);
    return memory;
  }

  /** Called when no command still to run refers to the memory. */
  free(memory: Memory): void {
    if (this.#allocated.get(memory.device) !== memory) return; // adopted: its owner frees it
    this.#allocated.delete(memory.device);
    this.#used -= memory.bytes;
    // SAFETY: the loop frees memory only when every command that used it has completed.
    if (this.#pool === undefined) this.#errors.check('cuMemFree', this.#api.cuMemFree(memory.device));
    else this.#errors.check('cuMemFreeAsync', this.#api.cuMemFreeAsync(memory.device, this.#stream));
  }

  /** Called at shutdown, when the device may be lost: results no longer matter. */
  freeAll(): void {
    for (const { device } of this.#allocated.values()) {
      if (this.#pool === undefined) this.#api.cuMemFree(device);
      else this.#api.cuMemFreeAsync(device, this.#stream);
    }
    this.#allocated.clear();
    this.#trim(); // another device of this process may still use the same context
  }

  /** Returns freed memory to the system. Blocks, but briefly: no kernel runs on this stream. */
  #trim(): void {
    if (this.#pool === undefined) return;
    this.#api.cuStreamSynchronize(this.#stream);
    this.#api.cuMemPoolTrimTo(this.#pool, 0);
  }

  #allocate(bytes: number): number {
    return this.#pool === undefined
      ? this.#api.cuMemAlloc(this.#out.address, bytes)
      : this.#api.cuMemAllocAsync(this.#out.address, bytes, this.#stream);
  }

  /** The driver's free memory plus the unused part of its pool; infinity if it does not report it. */
  #free(): number {
    if (this.#api.cuMemGetInfo(this.#out.cellAddress(0), this.#out.cellAddress(1)) !== Cuda.success)
      return Number.POSITIVE_INFINITY;
    return this.#out.wide(0) + this.#poolBytes(Cuda.poolReserved) - this.#poolBytes(Cuda.poolUsed);
  }

  #poolBytes(which: number): number {
    if (this.#pool === undefined) return 0;
    const cell = this.#out.cellAddress(2);
    return this.#api.cuMemPoolGetAttribute(this.#pool, which, cell) === Cuda.success ? this.#out.wide(2) : 0;
  }

  #outOfMemory(bytes: number): MillraceError {
    const free = this.#free();
    const held = `${formatBytes(this.#used)} in ${formatCount(this.#allocated.size, 'buffer')} of this device`;
    return new MillraceError({
      code: 'device-memory',
      message: `not enough device memory for ${formatBytes(bytes)}: ${Number.isFinite(free) ? `${formatBytes(free)} free of ` : ''}${formatBytes(this.#total)}`,
      asked: `alloc(${bytes}), with ${held} allocated`,
      advice:
        'free buffers, use smaller ones, or end other programs that use memory of this GPU (nvidia-smi lists them)',
    });
  }
}
