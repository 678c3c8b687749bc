import { OutParameters } from '../gpu/native/api.js';
import { LockedMemory, type LockedRegion } from '../gpu/native/locked-memory.js';
import { addressOf, bytesAt, mapPages, unmapPages } from '../native/libc.js';
import { Cuda, type CudaApi } from './runtime/api.js';
import type { CudaErrors } from './runtime/errors.js';

/** Host memory that the GPU reads and writes itself: page-locked, and visible to kernels at `device`. */
export interface PinnedRegion extends LockedRegion {
  readonly device: number;
}

interface PinnedEntry {
  readonly free: 'cuMemHostUnregister' | 'cuMemFreeHost';
  /** Bytes of pages that were mapped for it. */
  readonly pages: number;
  /** Keeps memory of other owners from being garbage collected. */
  readonly keep: unknown;
}

const FLAGS = Cuda.hostPortable | Cuda.hostMapped;
/** The region size of our own memory. There is little: a word for each stream, and pages of status slots. */
const OWN_BYTES = 2 ** 17;

/**
 * Page-locked memory: memory shared with other threads, registered with the driver; and our own. Our own is never
 * allocated by V8: when the process exits, V8 frees this thread's arrays while the GPU and the driver's callbacks may
 * still write.
 */
export class PinnedMemory {
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #registers: boolean;
  readonly #out = new OutParameters();
  readonly #entries = new Map<number, PinnedEntry>();
  readonly #shared: LockedMemory<PinnedRegion>;
  readonly #own: LockedMemory<PinnedRegion>;

  constructor(api: CudaApi, errors: CudaErrors, registers: boolean) {
    this.#api = api;
    this.#errors = errors;
    this.#registers = registers;
    const unlock = ({ address }: PinnedRegion): void => this.#unlock(address);
    this.#shared = new LockedMemory({ lock: (bytes) => this.register(new SharedArrayBuffer(bytes)), unlock, part });
    this.#own = new LockedMemory({ lock: (bytes) => this.#allocOwn(bytes), unlock, part }, OWN_BYTES);
  }

  /** Allocates memory for all threads; undefined if the driver refuses. */
  allocShared(bytes: number): PinnedRegion | undefined {
    return this.#shared.alloc(bytes);
  }

  /** Allocates memory for this thread and the GPU. */
  alloc(bytes: number): PinnedRegion {
    return this.#own.alloc(bytes) ?? this.#allocOwn(bytes);
  }

  /** Registers existing memory; undefined if the driver refuses. */
  register(memory: SharedArrayBuffer): PinnedRegion | undefined {
    const bytes = new Uint8Array(memory);
    const address = addressOf(bytes);
    return this.#register(address, bytes.length, 0, memory) ? this.#withDevicePointer(bytes, address) : undefined;
  }

  /** Called when nothing on the GPU uses the memory any more. */
  release(address: number): void {
    if (!this.#shared.release(address) && !this.#own.release(address)) this.#unlock(address);
  }

  releaseAll(): void {
    for (const address of [...this.#entries.keys()]) this.#unlock(address);
  }

  /** Pages of our own, or the driver's if it does not accept ours (some virtual machines). */
  #allocOwn(bytes: number): PinnedRegion {
    const address = this.#mapPages(bytes) ?? this.#allocByDriver(bytes);
    // SAFETY: these bytes are ours until they are unlocked, and nothing accesses the view after that.
    return this.#withDevicePointer(bytesAt(address, bytes), address);
  }

  #unlock(address: number): void {
    const held = this.#entries.get(address);
    if (held === undefined) return;
    this.#entries.delete(address);
    this.#api[held.free](address);
    if (held.pages > 0) unmapPages(address, held.pages);
  }

  #register(address: number, bytes: number, pages: number, keep: unknown): boolean {
    if (!this.#registers || bytes === 0) return false;
    // SAFETY: `keep`, or our own mapping, holds the memory until `release`.
    if (this.#api.cuMemHostRegister(address, bytes, FLAGS) !== Cuda.success) return false;
    this.#entries.set(address, { free: 'cuMemHostUnregister', pages, keep });
    return true;
  }

  #mapPages(bytes: number): number | undefined {
    const address = mapPages(bytes);
    if (address === 0) return undefined;
    if (this.#register(address, bytes, bytes, undefined)) return address;
    unmapPages(address, bytes);
    return undefined;
  }

  #allocByDriver(bytes: number): number {
    const code = this.#api.cuMemHostAlloc(this.#out.address, bytes, FLAGS);
    this.#errors.check('cuMemHostAlloc', code, `${bytes} bytes of page-locked memory`);
    const address = this.#out.wide();
    this.#entries.set(address, { free: 'cuMemFreeHost', pages: 0, keep: undefined });
    return address;
  }

  #withDevicePointer(bytes: Uint8Array, address: number): PinnedRegion {
    const code = this.#api.cuMemHostGetDevicePointer(this.#out.address, address, 0);
    this.#errors.check('cuMemHostGetDevicePointer', code, 'mapping page-locked memory');
    return { bytes, address, device: this.#out.wide() };
  }
}

const part = ({ bytes, address, device }: PinnedRegion, at: number, length: number): PinnedRegion => ({
  bytes: bytes.subarray(at, at + length),
  address: address + at,
  device: device + at,
});
