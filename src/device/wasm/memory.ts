import { BOARD_BYTES } from '../pool/board.js';
import { api, type Memory } from './api.js';
import { GRAIN, Ranges } from './ranges.js';

const PAGE = 65536;
/** One page less than 4 GiB: an array over all of it has at most 2^32 - 1 elements. */
export const MOST_PAGES = 65535;
/** Growing interrupts every thread, so it is done in steps of at least this many pages (4 MiB). */
const GROW_PAGES = 64;

/** The board's address. Nothing is at address 0, which means "none" in a launch. */
export const BOARD_AT = 1024;
const FIRST = Math.ceil((BOARD_AT + BOARD_BYTES) / GRAIN) * GRAIN;

/** Total bytes available to buffers. */
export const roomIn = (pages: number): number => pages * PAGE - FIRST;

/** An allocated range of the memory. */
export interface Stretch {
  readonly at: number;
  readonly bytes: number;
  /** The first bytes, which may hold earlier content; the rest is zero. */
  readonly used: number;
}

/**
 * The one memory of a device, shared by its threads: the board first, then everything else. Wasm addresses are 32 bits
 * wide, so it ends at 4 GiB. Main thread only.
 */
export class DeviceMemory {
  readonly wasm: Memory;
  readonly pages: number;
  readonly #ranges = new Ranges(FIRST);
  #size: number;
  #views: { readonly buffer: ArrayBufferLike; readonly bytes: Uint8Array; readonly words: Uint32Array } | undefined;

  constructor() {
    const { memory, pages } = reserve();
    this.wasm = memory;
    this.pages = pages;
    this.#size = memory.buffer.byteLength;
    this.#ranges.add(FIRST, this.#size - FIRST);
  }

  /** Allocates `bytes` bytes; undefined if there is no space. */
  take(bytes: number): Stretch | undefined {
    const taken = this.#ranges.take(bytes);
    if (taken || !this.#grow(bytes)) return taken;
    return this.#ranges.take(bytes);
  }

  give({ at, bytes }: Stretch): void {
    this.#ranges.give(at, bytes);
  }

  get free(): number {
    return this.#ranges.freeBytes + this.pages * PAGE - this.#size;
  }

  get bytes(): Uint8Array {
    return this.#current().bytes;
  }

  get words(): Uint32Array {
    return this.#current().words;
  }

  /** Growing replaces the buffer: views are created again then. */
  #current(): { readonly bytes: Uint8Array; readonly words: Uint32Array } {
    const { buffer } = this.wasm;
    if (this.#views?.buffer === buffer) return this.#views;
    this.#views = { buffer, bytes: new Uint8Array(buffer), words: new Uint32Array(buffer) };
    return this.#views;
  }

  #grow(bytes: number): boolean {
    const missing = Math.ceil((bytes + GRAIN - this.#ranges.tail(this.#size)) / PAGE);
    const left = this.pages - this.#size / PAGE;
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
function reserve(): { readonly memory: Memory; readonly pages: number } {
  const initial = Math.ceil(FIRST / PAGE) + GROW_PAGES;
  for (let pages = MOST_PAGES; ; pages = Math.floor(pages / 2)) {
    try {
      return { memory: new api.Memory({ initial, maximum: pages, shared: true }), pages };
    } catch (error) {
      if (pages < 4 * initial) throw error;
    }
  }
}
