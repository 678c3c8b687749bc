import { OutParameters } from '../gpu/native/api.js';
import { LockedMemory, type LockedRegion } from '../gpu/native/locked-memory.js';
import { addressOf, bytesAt } from '../native/libc.js';
import type { CommandQueue } from './queue.js';
import { CL } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/** Page-locked host memory. */
export type PinnedRegion = LockedRegion;

/**
 * Page-locked memory of the driver: OpenCL cannot lock existing memory. It is a buffer that the driver is asked to keep
 * on the host, mapped for its lifetime; NVIDIA's and AMD's drivers treat that as page-locked in all transfers.
 */
export class PinnedMemory {
  readonly #context: Context;
  readonly #queue: CommandQueue;
  readonly #out = new OutParameters();
  readonly #buffers = new Map<number, { readonly handle: number; readonly isLent: boolean }>();
  readonly #own: LockedMemory<PinnedRegion>;
  readonly #lent: LockedMemory<PinnedRegion>;

  /** `queue` has little to do: mapping waits for it. */
  constructor(context: Context, queue: CommandQueue) {
    this.#context = context;
    this.#queue = queue;
    const unlock = ({ address }: PinnedRegion): void => this.#unmap(address);
    this.#own = new LockedMemory({ lock: (bytes) => this.#map(bytes, false), unlock, part });
    this.#lent = new LockedMemory({ lock: (bytes) => this.#map(bytes, true), unlock, part });
  }

  /**
   * Allocates zeroed memory. Plain memory if the driver has none left: then transfers are slower. On a CPU all memory
   * is plain.
   */
  alloc(bytes: number): PinnedRegion {
    return (this.#context.sharesHostMemory ? undefined : this.#own.alloc(bytes)) ?? plainMemory(bytes);
  }

  /**
   * The same for the main thread, which may access it after the device has been closed. Undefined if there is none
   * left.
   */
  lend(bytes: number): PinnedRegion | undefined {
    return this.#lent.alloc(bytes);
  }

  /** Called when nothing on the device uses the memory any more and there is no view of it. */
  release(address: number): void {
    if (!this.#own.release(address)) this.#lent.release(address);
  }

  /** Called at shutdown. Lent memory stays mapped: accessing it would crash otherwise. */
  releaseAll(): void {
    this.#lent.trim();
    for (const [address, { isLent }] of [...this.#buffers]) if (!isLent) this.#unmap(address);
  }

  #unmap(address: number): void {
    const held = this.#buffers.get(address);
    if (held === undefined) return;
    this.#buffers.delete(address);
    const { api } = this.#context;
    // SAFETY: the caller guarantees that nothing accesses it any more.
    api.clEnqueueUnmapMemObject(this.#queue.handle, held.handle, address, 0, 0, 0);
    this.#context.release(held.handle);
  }

  #map(bytes: number, isLent: boolean): PinnedRegion | undefined {
    const { api, handle: context } = this.#context;
    const handle = api.clCreateBuffer(context, CL.MEM_READ_WRITE | CL.MEM_ALLOC_HOST_PTR, bytes, 0, this.#out.address);
    if (this.#out.int() !== 0) return undefined;
    // SAFETY: all of what was just made; it stays mapped until it is unmapped here.
    const address = api.clEnqueueMapBuffer(
      this.#queue.handle,
      handle,
      1,
      CL.MAP_READ | CL.MAP_WRITE,
      0,
      bytes,
      0,
      0,
      0,
      this.#out.address,
    );
    if (this.#out.int() !== 0) {
      this.#context.release(handle);
      return undefined;
    }
    this.#buffers.set(address, { handle, isLent });
    // SAFETY: the driver returned these bytes; nothing reads the view after they are unmapped.
    return { bytes: bytesAt(address, bytes).fill(0), address };
  }
}

function plainMemory(bytes: number): PinnedRegion {
  const own = new Uint8Array(new SharedArrayBuffer(bytes));
  return { bytes: own, address: addressOf(own) };
}

const part = ({ bytes, address }: PinnedRegion, at: number, length: number): PinnedRegion => ({
  bytes: bytes.subarray(at, at + length),
  address: address + at,
});
