import { addressOf, bytesAt, mapPages, unmapPages } from '../native/libc.js';
import { Cuda, type CudaApi, Out } from './api.js';
import type { CudaErrors } from './errors.js';

/** Memory of the host that the GPU reads and writes itself: page-locked, and seen by kernels at `device`. */
export interface Pinned {
  readonly bytes: Uint8Array;
  readonly address: number;
  readonly device: number;
}

interface Held {
  readonly free: 'cuMemHostUnregister' | 'cuMemFreeHost';
  /** Pages that were mapped for it. */
  readonly pages: number;
  /** Keeps memory that others gave from the collector. */
  readonly keep: unknown;
}

const FLAGS = Cuda.hostPortable | Cuda.hostMapped;

/**
 * Page-locked memory: what others share with us, registered with the driver; and our own. That is never V8's: a process
 * that ends takes this thread's arrays away while the GPU and the driver's callbacks still write.
 */
export class PinnedMemory {
  readonly #api: CudaApi;
  readonly #errors: CudaErrors;
  readonly #registers: boolean;
  readonly #out = new Out();
  readonly #held = new Map<number, Held>();

  constructor(api: CudaApi, errors: CudaErrors, registers: boolean) {
    this.#api = api;
    this.#errors = errors;
    this.#registers = registers;
  }

  /** Registers memory that is there already; undefined where the driver refuses. */
  register(memory: SharedArrayBuffer): Pinned | undefined {
    const bytes = new Uint8Array(memory);
    const address = addressOf(bytes);
    return this.#register(address, bytes.length, 0, memory) ? this.#mapped(bytes, address) : undefined;
  }

  /** Fresh memory: pages of our own, or the driver's where it does not take them (some virtual machines). */
  alloc(bytes: number): Pinned {
    const address = this.#mapPages(bytes) ?? this.#ask(bytes);
    // SAFETY: these bytes are ours until `release`, and nothing looks at the view after that.
    return this.#mapped(bytesAt(address, bytes), address);
  }

  /** Nothing on the GPU uses it any more. */
  release(address: number): void {
    const held = this.#held.get(address);
    if (held === undefined) return;
    this.#held.delete(address);
    this.#api[held.free](address);
    if (held.pages > 0) unmapPages(address, held.pages);
  }

  releaseAll(): void {
    for (const address of [...this.#held.keys()]) this.release(address);
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
