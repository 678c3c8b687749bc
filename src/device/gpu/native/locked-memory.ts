import { Slab } from './slab.js';

/** Page-locked host memory. */
export interface LockedRegion {
  readonly bytes: Uint8Array;
  readonly address: number;
}

/** How a runtime makes page-locked memory. `M` is the runtime's type for it. */
export interface PageLocker<M extends LockedRegion> {
  /** Returns zeroed memory; undefined if there is none. */
  lock(bytes: number): M | undefined;
  /** Called when nothing uses the memory any more. */
  unlock(memory: M): void;
  /** Returns a part of the memory. */
  part(memory: M, at: number, bytes: number): M;
}

/** The size of a region that small allocations are cut from: space for 31 rings of 32 KiB. */
export const SLAB_BYTES = 2 ** 20;
/** An allocation is small if at least this many fit in a region. */
const MIN_PIECES = 8;

/**
 * Page-locked memory, with small allocations grouped in few regions. Locking and unlocking a region may wait for all
 * running work: registering 24 rings of 32 KiB one by one cost a search on an H200 10 ms, and releasing them 31 ms.
 * Regions are kept until the end; large memory is locked and unlocked individually.
 */
export class LockedMemory<M extends LockedRegion> {
  readonly #locker: PageLocker<M>;
  readonly #slabBytes: number;
  readonly #slabs: { readonly region: M; readonly slab: Slab }[] = [];
  /** Keyed by address. */
  readonly #large = new Map<number, M>();

  constructor(locker: PageLocker<M>, slabBytes = SLAB_BYTES) {
    this.#locker = locker;
    this.#slabBytes = slabBytes;
  }

  /** Returns zeroed memory; undefined if there is none. */
  alloc(bytes: number): M | undefined {
    if (bytes === 0) return undefined;
    const small =
      bytes <= this.#slabBytes / MIN_PIECES ? (this.#allocFromSlabs(bytes) ?? this.#addSlab(bytes)) : undefined;
    if (small !== undefined) return small;
    const memory = this.#locker.lock(bytes);
    if (memory) this.#large.set(memory.address, memory);
    return memory;
  }

  /** Releases the memory taken at this address. False if there is none. */
  release(address: number): boolean {
    const large = this.#large.get(address);
    if (large === undefined) return this.#slabs.some(({ region, slab }) => slab.free(address - region.address));
    this.#large.delete(address);
    this.#locker.unlock(large);
    return true;
  }

  /** Unlocks the regions that are not in use: all of them if everything was given back. */
  trim(): void {
    const idle = this.#slabs.filter(({ slab }) => slab.isIdle);
    for (const slab of idle) this.#slabs.splice(this.#slabs.indexOf(slab), 1);
    for (const { region } of idle) this.#locker.unlock(region);
  }

  #allocFromSlabs(bytes: number): M | undefined {
    for (const { region, slab } of this.#slabs) {
      const at = slab.alloc(bytes);
      if (at === undefined) continue;
      const piece = this.#locker.part(region, at, bytes);
      piece.bytes.fill(0); // it may have been used before
      return piece;
    }
    return undefined;
  }

  #addSlab(bytes: number): M | undefined {
    const region = this.#locker.lock(this.#slabBytes);
    if (region === undefined) return undefined;
    this.#slabs.push({ region, slab: new Slab(region.address, this.#slabBytes) });
    return this.#allocFromSlabs(bytes);
  }
}
