import type { Crew } from '../gpu/host/crew.js';
import { Out } from '../gpu/native/api.js';
import type { NativeQueue } from '../gpu/native/line.js';
import { PinnedRing } from '../gpu/native/pinned-ring.js';
import type { Events } from './events.js';
import type { Pinned, PinnedMemory } from './pinned.js';
import { Cuda } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/** Resources shared by all streams of a device. */
export interface Parts {
  readonly context: Context;
  readonly pinned: PinnedMemory;
  /** Events before work, after work (a thread may sleep on them), and without times. */
  readonly starts: Events;
  readonly ends: Events;
  readonly plain: Events;
  /** Rings of closed streams, for reuse: locking one takes 4 ms, and unlocking one may wait for everything that runs. */
  readonly rings: Pinned[];
  /** Copies between pageable memory and rings. */
  readonly crew: Crew;
}

/** A stream of the driver that does not wait for the default stream, with staging for pageable host memory. */
export class CudaStream implements NativeQueue<void> {
  readonly handle: number;
  readonly staging: PinnedRing<Pinned>;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    const { context, pinned, plain, rings, crew } = parts;
    const { api, errors } = context;
    const out = new Out();
    errors.check('cuStreamCreate', api.cuStreamCreate(out.at, Cuda.streamNonBlocking), 'opening a stream');
    const handle = out.wide();
    this.handle = handle;
    this.#parts = parts;
    this.staging = new PinnedRing({
      queue: this,
      alloc: (bytes) => rings.pop() ?? pinned.alloc(bytes),
      copy: (to, from, bytes) => crew.copy(to, from, bytes),
      record: () => plain.record(handle),
      passed(event) {
        const code = api.cuEventQuery(event);
        if (code === Cuda.notReady) return false;
        plain.give(event);
        errors.check('cuEventQuery', code, 'a transfer');
        return true;
      },
    });
  }

  /** `from` is page-locked, and held until the write is done. */
  write(memory: number, offset: number, from: number, bytes: number, doing = `a write of ${bytes} bytes`): void {
    const { api, errors } = this.#parts.context;
    // SAFETY: both ranges were checked when the command was queued, or are the driver's own.
    errors.check('cuMemcpyHtoDAsync', api.cuMemcpyHtoDAsync(memory + offset, from, bytes, this.handle), doing);
  }

  read(memory: number, offset: number, into: number, bytes: number): void {
    const { api, errors } = this.#parts.context;
    // SAFETY: as above, in the other direction.
    const code = api.cuMemcpyDtoHAsync(into, memory + offset, bytes, this.handle);
    errors.check('cuMemcpyDtoHAsync', code, `a read of ${bytes} bytes`);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): void {
    const { api, errors } = this.#parts.context;
    // SAFETY: both ranges were checked when the command was queued, and do not overlap.
    const code = api.cuMemcpyDtoDAsync(to + toOffset, from + fromOffset, bytes, this.handle);
    errors.check('cuMemcpyDtoDAsync', code, `a copy of ${bytes} bytes`);
  }

  fill(memory: number, offset: number, word: number, bytes: number): void {
    const { api, errors } = this.#parts.context;
    // SAFETY: the range was checked when the command was queued: whole words inside the buffer.
    const code = api.cuMemsetD32Async(memory + offset, word, bytes / 4, this.handle);
    errors.check('cuMemsetD32Async', code, `a fill of ${bytes} bytes`);
  }

  /** Delays this stream until another one, given by its handle, has done everything queued on it so far. */
  follow(other: number, doing?: string): void {
    const { plain } = this.#parts;
    const event = plain.record(other);
    plain.give(event); // a waiter waits for what was recorded until now
    this.wait(event, doing);
  }

  wait(event: number, doing?: string): void {
    const { api, errors } = this.#parts.context;
    errors.check('cuStreamWaitEvent', api.cuStreamWaitEvent(this.handle, event, 0), doing);
  }

  /** True if everything queued is done, or can never be. */
  isIdle(): boolean {
    return this.#parts.context.api.cuStreamQuery(this.handle) !== Cuda.notReady;
  }

  destroy(): void {
    const { context, rings } = this.#parts;
    context.api.cuStreamDestroy(this.handle);
    const { memory, waiting } = this.staging;
    if (memory && !waiting) rings.push(memory); // if bytes are still in flight, it is freed with the device
  }
}
