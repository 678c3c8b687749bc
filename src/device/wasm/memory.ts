import { BOARD_BYTES } from '../pool/board.js';
import { api, type WasmMemory } from './api.js';
import { ALIGNMENT, FreeRanges } from './ranges.js';

const PAGE = 65536;
/** One page less than 4 GiB: an array over all of it has at most 2^32 - 1 elements. */
export const MAX_PAGES = 65535;
/** Growing interrupts every thread, so it is done in steps of at least this many pages (4 MiB). */
const GROW_PAGES = 64;

/** The board's address. Nothing is at address 0, which means "none" in a launch. */
export const BOARD_ADDRESS = 1024;
const FIRST_ADDRESS = Math.ceil((BOARD_ADDRESS + BOARD_BYTES) / ALIGNMENT) * ALIGNMENT;

/** Total bytes available to buffers. */
export const capacityOf = (pages: number): number => pages * PAGE - FIRST_ADDRESS;

/** An allocated range of the memory. */
export interface Allocation {
  readonly at: number;
  readonly bytes: number;
  /** The first bytes, which may hold earlier content; the rest is zero. */
  readonly dirtyBytes: number;
}

/**
 * The one memory of a device, shared by its threads: the board first, then everything else. Wasm addresses are 32 bits
 * wide, so it ends at 4 GiB. Main thread only.
 */
export class DeviceMemory {
  readonly wasm: WasmMemory;
  readonly maxPages: number;
  readonly #ranges = new FreeRanges(FIRST_ADDRESS);
  #size: number;
  #views: { readonly buffer: ArrayBufferLike; readonly bytes: Uint8Array; readonly words: Uint32Array } | undefined;

  constructor() {
    const { memory, pages } = reserveMemory();
    this.wasm = memory;
    this.maxPages = pages;
    this.#size = memory.buffer.byteLength;
    this.#ranges.add(FIRST_ADDRESS, this.#size - FIRST_ADDRESS);
  }

  /** Allocates `bytes` bytes; undefined if there is no space. */
  allocate(bytes: number): Allocation | undefined {
    const taken = this.#ranges.allocate(bytes);
    if (taken || !this.#grow(bytes)) return taken;
    return this.#ranges.allocate(bytes);
  }

  free({ at, bytes }: Allocation): void {
    this.#ranges.free(at, bytes);
  }

  get freeBytes(): number {
    return this.#ranges.freeBytes + this.maxPages * PAGE - this.#size;
  }

  get bytes(): Uint8Array {
    return this.#currentViews().bytes;
  }

  get words(): Uint32Array {
    return this.#currentViews().words;
  }

  /** Growing replaces the buffer: views are created again then. */
  #currentViews(): { readonly bytes: Uint8Array; readonly words: Uint32Array } {
    const { buffer } = this.wasm;
    if (this.#views?.buffer === buffer) return this.#views;
    this.#views = { buffer, bytes: new Uint8Array(buffer), words: new Uint32Array(buffer) };
    return this.#views;
  }

  #grow(bytes: number): boolean {
    const missing = Math.ceil((bytes + ALIGNMENT - this.#ranges.freeTail(this.#size)) / PAGE);
    const left = this.maxPages - this.#size / PAGE;
    if (missing > left) return false;
    const pages = Math.min(left, Math.max(missing, GROW_PAGES));
    try {
      this.wasm.grow(pages);
    } catch {
      return false; // the system has no memory left
    }
    this.#ranges.add(this.#size, pages * PAGE);
    this.#size += pages * PAGE;
    return true;
  }
}

/** Reserves address space for the whole memory at once; if a small system refuses, for less. */
function reserveMemory(): { readonly memory: WasmMemory; readonly pages: number } {
  const initial = Math.ceil(FIRST_ADDRESS / PAGE) + GROW_PAGES;
  for (let pages = MAX_PAGES; ; pages = Math.floor(pages / 2)) {
    try {
      return { memory: new api.Memory({ initial, maximum: pages, shared: true }), pages };
    } catch (error) {
      if (pages < 4 * initial) throw error;
    }
  }
}
