import { freemem } from 'node:os';
import { MillraceError } from '../../kernel/error.js';
import type { Device } from '../device.js';
import { HeldBuffer, sizeOf } from '../launch.js';
import { mapPages, unmapPages } from './libc.js';

/** Bytes kept mapped behind a buffer's end: generated code may load a whole vector that starts at the last element. */
const MARGIN = 64;
const PAGE = 4096;

/** Device memory is anonymous pages: zeroed, and committed only when touched, so a sparse 5 GiB costs what is used. */
export class NativeBuffer extends HeldBuffer {
  readonly address: number;
  readonly #mapped: number;
  readonly #memory: Memory;
  /** Commands in flight that name this buffer. */
  #uses = 0;

  constructor(device: Device, bytes: number, address: number, mapped: number, memory: Memory) {
    super(device, bytes);
    this.address = address;
    this.#mapped = mapped;
    this.#memory = memory;
  }

  hold(): void {
    this.#uses++;
  }

  release(): void {
    this.#uses--;
    if (this.#uses === 0 && this.freed) this.#unmap();
  }

  free(): void {
    if (this.freed) return;
    this.freed = true;
    if (this.#uses === 0) this.#unmap();
    else this.#memory.onDelayedFree();
  }

  #unmap(): void {
    this.#memory.give(this, this.address, this.#mapped);
  }
}

/** All memory of a device: what is allocated, and what is let go at the end. Main thread only. */
export class Memory {
  readonly #total: number;
  readonly #owned = new Map<NativeBuffer, { address: number; mapped: number }>();
  /** Called when a free has to wait for commands, so that somebody learns when they are done. */
  readonly onDelayedFree: () => void;
  #allocated = 0;

  constructor(total: number, onDelayedFree: () => void) {
    this.#total = total;
    this.onDelayedFree = onDelayedFree;
  }

  take(device: Device, bytes: number): NativeBuffer {
    const mapped = Math.ceil((bytes + MARGIN) / PAGE) * PAGE;
    if (this.#allocated + mapped > this.#total) throw this.#refusal(device, bytes);
    const address = mapPages(mapped);
    if (address === 0) throw this.#refusal(device, bytes);
    const buffer = new NativeBuffer(device, bytes, address, mapped, this);
    this.#owned.set(buffer, { address, mapped });
    this.#allocated += mapped;
    return buffer;
  }

  give(buffer: NativeBuffer, address: number, mapped: number): void {
    if (!this.#owned.delete(buffer)) return;
    this.#allocated -= mapped;
    unmapPages(address, mapped);
  }

  /** After the last worker has ended. */
  giveAll(): void {
    for (const [buffer, { address, mapped }] of [...this.#owned]) {
      buffer.freed = true;
      this.give(buffer, address, mapped);
    }
  }

  #refusal(device: Device, bytes: number): MillraceError {
    return new MillraceError({
      code: 'device-memory',
      message: `device ${device.info.id} cannot hold another buffer of ${sizeOf(bytes)}`,
      asked: `alloc(${bytes}); ${sizeOf(this.#allocated)} are allocated, ${sizeOf(freemem())} of ${sizeOf(this.#total)} are free`,
      advice: 'free buffers, use smaller chunks or fewer slots, or lower --max-memory',
    });
  }
}
