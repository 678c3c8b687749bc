import { freemem } from 'node:os';
import { MillraceError } from '../../kernel/error.js';
import { formatBytes } from '../checks/launch.js';
import type { Device, HostMemory } from '../device.js';
import { sharedMemory } from '../host-memory.js';
import { type BufferOwner, PoolBuffer } from '../pool/buffer.js';
import { addressOf, type NativeCalls } from './calls.js';

/** Bytes kept mapped after a buffer's end: generated code may load a whole vector that starts at the last element. */
const MARGIN = 64;
const PAGE = 4096;

/** A buffer whose address is valid in this process, so other libraries may access it. */
class NativeBuffer extends PoolBuffer {
  get pointer(): number {
    return this.address;
  }
}

/** Host memory that kernels access in place. Commands in flight keep it alive. */
class HostBuffer extends NativeBuffer {
  readonly bytesInUse: Uint8Array;

  constructor(device: Device, bytes: Uint8Array, address: number) {
    super(device, bytes.length, address, { reclaim: () => undefined, onDelayedFree: () => undefined });
    this.bytesInUse = bytes;
  }
}

/** Memory of at least this size is put on huge pages, as `map` does. */
const HUGE_BYTES = 4 << 20;

/**
 * All memory of a device: allocates buffers and frees them at the end. Main thread only. A buffer is anonymous pages:
 * zeroed, and committed only when touched, so a sparse 5 GiB costs only what is used.
 */
export class NativeMemory implements BufferOwner {
  readonly #calls: NativeCalls;
  readonly #totalBytes: number;
  readonly #owned = new Map<PoolBuffer, { readonly address: number; readonly mapped: number }>();
  readonly onDelayedFree: () => void;
  #allocatedBytes = 0;

  constructor(calls: NativeCalls, total: number, onDelayedFree: () => void) {
    this.#calls = calls;
    this.#totalBytes = total;
    this.onDelayedFree = onDelayedFree;
  }

  allocate(device: Device, bytes: number): PoolBuffer {
    const mapped = Math.ceil((bytes + MARGIN) / PAGE) * PAGE;
    if (this.#allocatedBytes + mapped > this.#totalBytes) throw this.#noMemory(device, bytes);
    // SAFETY: anonymous and private, at an address the kernel chooses; the length is a positive whole number.
    const address = this.#calls.map(mapped);
    if (address === 0) throw this.#noMemory(device, bytes);
    const buffer = new NativeBuffer(device, bytes, address, this);
    this.#owned.set(buffer, { address, mapped });
    this.#allocatedBytes += mapped;
    return buffer;
  }

  /** Allocates host memory that is also a buffer. The collector frees it. */
  allocateHost(device: Device, bytes: number): HostMemory {
    const whole = sharedMemory(bytes + MARGIN);
    const view = whole.bytes.subarray(0, bytes);
    const address = addressOf(this.#calls, whole.bytes);
    // SAFETY: advice about whole pages inside memory that `whole` holds.
    if (bytes >= HUGE_BYTES) this.#calls.useHugePages(address, bytes);
    const buffer = new HostBuffer(device, view, address);
    return { bytes: view, locked: whole.locked, buffer, free: () => buffer.free() };
  }

  reclaim(buffer: PoolBuffer): void {
    const owned = this.#owned.get(buffer);
    if (!owned) return;
    this.#owned.delete(buffer);
    this.#allocatedBytes -= owned.mapped;
    // SAFETY: this mapping is ours and no queued command refers to it any more.
    this.#calls.unmap(owned.address, owned.mapped);
  }

  /** Called after the last worker has ended. */
  freeAll(): void {
    for (const buffer of [...this.#owned.keys()]) {
      buffer.freed = true;
      this.reclaim(buffer);
    }
  }

  #noMemory(device: Device, bytes: number): MillraceError {
    return new MillraceError({
      code: 'device-memory',
      message: `device ${device.info.id} has no memory for another buffer of ${formatBytes(bytes)}`,
      asked: `alloc(${bytes}); ${formatBytes(this.#allocatedBytes)} are allocated, ${formatBytes(freemem())} of ${formatBytes(this.#totalBytes)} are free`,
      advice: 'free buffers, use smaller chunks or fewer slots, or lower --max-memory',
    });
  }
}
