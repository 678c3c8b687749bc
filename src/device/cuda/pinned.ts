import { Out } from '../gpu/native/api.js';
import { type Locked, LockedMemory } from '../gpu/native/locked-memory.js';
import { addressOf, bytesAt, mapPages, unmapPages } from '../native/libc.js';
import { Cuda, type CudaApi } from './runtime/api.js';
import type { CudaErrors } from './runtime/errors.js';

/** Host memory that the GPU reads and writes itself: page-locked, and visible to kernels at `device`. */
export interface Pinned extends Locked {
  readonly device: number;
}

interface Held {
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
  readonly #out = new Out();
  readonly #held = new Map<number, Held>();
  readonly #shared: LockedMemory<Pinned>;
  readonly #own: LockedMemory<Pinned>;

  constructor(api: CudaApi, errors: CudaErrors, registers: boolean) {
    this.#api = api;
    this.#errors = errors;
    this.#registers = registers;
    const unlock = ({ address }: Pinned): void => this.#unlock(address);
    this.#shared = new LockedMemory({ lock: (bytes) => this.register(new SharedArrayBuffer(bytes)), unlock, part });
    this.#own = new LockedMemory({ lock: (bytes) => this.#fresh(bytes), unlock, part }, OWN_BYTES);
  }

  /** Allocates memory for all threads; undefined if the driver refuses. */
  share(bytes: number): Pinned | undefined {
    return this.#shared.take(bytes);
  }

  /** Allocates memory for this thread and the GPU. */
  alloc(bytes: number): Pinned {
    return this.#own.take(bytes) ?? this.#fresh(bytes);
  }

  /** Registers existing memory; undefined if the driver refuses. */
  register(memory: SharedArrayBuffer): Pinned | undefined {
    const bytes = new Uint8Array(memory);
    const address = addressOf(bytes);
    return this.#register(address, bytes.length, 0, memory) ? this.#mapped(bytes, address) : undefined;
  }

  /** Called when nothing on the GPU uses the memory any more. */
  release(address: number): void {
    if (!this.#shared.give(address) && !this.#own.give(address)) this.#unlock(address);
  }

  releaseAll(): void {
    for (const address of [...this.#held.keys()]) this.#unlock(address);
  }

  /** Pages of our own, or the driver's if it does not accept ours (some virtual machines). */
  #fresh(bytes: number): Pinned {
    const address = this.#mapPages(bytes) ?? this.#ask(bytes);
    // SAFETY: these bytes are ours until they are unlocked, and nothing accesses the view after that.
    return this.#mapped(bytesAt(address, bytes), address);
  }

  #unlock(address: number): void {
    const held = this.#held.get(address);
    if (held === undefined) return;
    this.#held.delete(address);
    this.#api[held.free](address);
    if (held.pages > 0) unmapPages(address, held.pages);
  }

  #register(address: number, bytes: number, pages: number, keep: unknown): boolean {
    if (!this.#registers || bytes === 0) return false;
    // SAFETY: `keep`, or our own mapping, holds the memory until `release`.
    if (this.#api.cuMemHostRegister(address, bytes, FLAGS) !== Cuda.success) return false;
    this.#held.set(address, { free: 'cuMemHostUnregister', pages, keep });
    return true;
  }

  #mapPages(bytes: number): number | undefined {
    const address = mapPages(bytes);
    if (address === 0) return undefined;
    if (this.#register(address, bytes, bytes, undefined)) return address;
    unmapPages(address, bytes);
    return undefined;
  }

  #ask(bytes: number): number {
    const code = this.#api.cuMemHostAlloc(this.#out.at, bytes, FLAGS);
    this.#errors.check('cuMemHostAlloc', code, `${bytes} bytes of page-locked memory`);
    const address = this.#out.wide();
    this.#held.set(address, { free: 'cuMemFreeHost', pages: 0, keep: undefined });
    return address;
  }

  #mapped(bytes: Uint8Array, address: number): Pinned {
    const code = this.#api.cuMemHostGetDevicePointer(this.#out.at, address, 0);
    this.#errors.check('cuMemHostGetDevicePointer', code, 'mapping page-locked memory');
    return { bytes, address, device: this.#out.wide() };
  }
}

const part = ({ bytes, address, device }: Pinned, at: number, length: number): Pinned => ({
  bytes: bytes.subarray(at, at + length),
  address: address + at,
  device: device + at,
});
