import { Slab } from './slab.js';

/** Page-locked memory of the host. */
export interface Locked {
  readonly bytes: Uint8Array;
  readonly address: number;
}

/** How a runtime makes page-locked memory. `M` is its own for it. */
export interface Locksmith<M extends Locked> {
  /** Zeroed; undefined where there is none. */
  lock(bytes: number): M | undefined;
  /** Nothing uses it any more. */
  unlock(memory: M): void;
  /** A piece of it. */
  part(memory: M, at: number, bytes: number): M;
}

/** A region that small memory is cut from: room for 31 rings of 32 KiB. */
export const SLAB_BYTES = 2 ** 20;
/** Small is what fits so often. */
const PIECES = 8;

/**
 * Page-locked memory, the small in few regions. To lock and unlock a region may wait for all that runs: 24 rings of
 * 32 KiB took a search on an H200 10 ms to register one by one and 31 ms to let go of. Regions stay until the end; large
 * memory is locked and unlocked by itself.
 */
export class LockedMemory<M extends Locked> {
  readonly #smith: Locksmith<M>;
  readonly #slabBytes: number;
  readonly #slabs: { readonly region: M; readonly slab: Slab }[] = [];
  /** By their addresses. */
  readonly #large = new Map<number, M>();

  constructor(smith: Locksmith<M>, slabBytes = SLAB_BYTES) {
    this.#smith = smith;
    this.#slabBytes = slabBytes;
  }

  /** Zeroed; undefined where there is none. */
  take(bytes: number): M | undefined {
    if (bytes === 0) return undefined;
    const small = bytes <= this.#slabBytes / PIECES ? (this.#cut(bytes) ?? this.#grow(bytes)) : undefined;
    if (small !== undefined) return small;
    const memory = this.#smith.lock(bytes);
    if (memory) this.#large.set(memory.address, memory);
    return memory;
  }

  /** Nothing uses what was taken there any more. False where nothing was. */
  give(address: number): boolean {
    const large = this.#large.get(address);
    if (large === undefined) return this.#slabs.some(({ region, slab }) => slab.give(address - region.address));
    this.#large.delete(address);
    this.#smith.unlock(large);
    return true;
  }

  /** Unlocks the regions of which nothing is out: the end of all of them where everything was given back. */
  trim(): void {
    const idle = this.#slabs.filter(({ slab }) => slab.isIdle);
    for (const one of idle) this.#slabs.splice(this.#slabs.indexOf(one), 1);
    for (const { region } of idle) this.#smith.unlock(region);
  }

  #cut(bytes: number): M | undefined {
    for (const { region, slab } of this.#slabs) {
      const at = slab.take(bytes);
      if (at === undefined) continue;
      const piece = this.#smith.part(region, at, bytes);
      piece.bytes.fill(0); // somebody may have had it before
      return piece;
    }
    return undefined;
  }

  #grow(bytes: number): M | undefined {
    const region = this.#smith.lock(this.#slabBytes);
    if (region === undefined) return undefined;
    this.#slabs.push({ region, slab: new Slab(region.address, this.#slabBytes) });
    return this.#cut(bytes);
  }
}
