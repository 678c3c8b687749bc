import type { ParallelCopier } from '../gpu/host/parallel-copier.js';
import { OutParameters } from '../gpu/native/api.js';
import type { NativeQueue } from '../gpu/native/line.js';
import { PinnedRing } from '../gpu/native/pinned-ring.js';
import type { Events } from './events.js';
import type { PinnedMemory, PinnedRegion } from './pinned.js';
import { Cuda } from './runtime/api.js';
import type { Context } from './runtime/context.js';

/** Resources shared by all streams of a device. */
export interface StreamResources {
  readonly context: Context;
  readonly pinned: PinnedMemory;
  /** Events before work, after work (a thread may sleep on them), and without times. */
  readonly startEvents: Events;
  readonly endEvents: Events;
  readonly untimedEvents: Events;
  /** Rings of closed streams, for reuse: locking one takes 4 ms, and unlocking one may wait for everything that runs. */
  readonly spareRings: PinnedRegion[];
  /** Copies between pageable memory and rings. */
  readonly copier: ParallelCopier;
}

/** A stream of the driver that does not wait for the default stream, with staging for pageable host memory. */
export class CudaStream implements NativeQueue<void> {
  readonly handle: number;
  readonly staging: PinnedRing<PinnedRegion>;
  readonly #resources: StreamResources;

  constructor(parts: StreamResources) {
    const { context, pinned, untimedEvents, spareRings, copier } = parts;
    const { api, errors } = context;
    const out = new OutParameters();
    errors.check('cuStreamCreate', api.cuStreamCreate(out.address, Cuda.streamNonBlocking), 'opening a stream');
    const handle = out.wide();
    this.handle = handle;
    this.#resources = parts;
    this.staging = new PinnedRing({
      queue: this,
      alloc: (bytes) => spareRings.pop() ?? pinned.alloc(bytes),
      copy: (to, from, bytes) => copier.copy(to, from, bytes),
      record: () => untimedEvents.record(handle),
      passed(event) {
        const code = api.cuEventQuery(event);
        if (code === Cuda.notReady) return false;
        untimedEvents.release(event);
        errors.check('cuEventQuery', code, 'a transfer');
        return true;
      },
    });
  }

  /** `from` is page-locked, and held until the write is done. */
  write(memory: number, offset: number, from: number, bytes: number, doing = `a write of ${bytes} bytes`): void {
    const { api, errors } = this.#resources.context;
    // SAFETY: both ranges were checked when the command was queued, or are the driver's own.
    errors.check('cuMemcpyHtoDAsync', api.cuMemcpyHtoDAsync(memory + offset, from, bytes, this.handle), doing);
  }

  read(memory: number, offset: number, into: number, bytes: number): void {
    const { api, errors } = this.#resources.context;
    // SAFETY: as above, in the other direction.
    const code = api.cuMemcpyDtoHAsync(into, memory + offset, bytes, this.handle);
    errors.check('cuMemcpyDtoHAsync', code, `a read of ${bytes} bytes`);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): void {
    const { api, errors } = this.#resources.context;
    // SAFETY: both ranges were checked when the command was queued, and do not overlap.
    const code = api.cuMemcpyDtoDAsync(to + toOffset, from + fromOffset, bytes, this.handle);
    errors.check('cuMemcpyDtoDAsync', code, `a copy of ${bytes} bytes`);
  }

  fill(memory: number, offset: number, word: number, bytes: number): void {
    const { api, errors } = this.#resources.context;
    // SAFETY: the range was checked when the command was queued: whole words inside the buffer.
    const code = api.cuMemsetD32Async(memory + offset, word, bytes / 4, this.handle);
    errors.check('cuMemsetD32Async', code, `a fill of ${bytes} bytes`);
  }

  /** Delays this stream until another one, given by its handle, has done everything queued on it so far. */
  follow(other: number, doing?: string): void {
    const { untimedEvents } = this.#resources;
    const event = untimedEvents.record(other);
    untimedEvents.release(event); // a wait refers to the event as last recorded
    this.wait(event, doing);
  }

  wait(event: number, doing?: string): void {
    const { api, errors } = this.#resources.context;
    errors.check('cuStreamWaitEvent', api.cuStreamWaitEvent(this.handle, event, 0), doing);
  }

  /** True if everything queued is done, or can never be. */
  isIdle(): boolean {
    return this.#resources.context.api.cuStreamQuery(this.handle) !== Cuda.notReady;
  }

  destroy(): void {
    const { context, spareRings } = this.#resources;
    context.api.cuStreamDestroy(this.handle);
    const { memory, hasPending } = this.staging;
    if (memory && !hasPending) spareRings.push(memory); // if bytes are still in flight, it is freed with the device
  }
}
