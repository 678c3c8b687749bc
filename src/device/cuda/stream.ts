import type { Crew } from '../gpu/crew.js';
import { PinnedRing } from '../gpu/pinned-ring.js';
import { Cuda, Out } from './api.js';
import type { Context } from './context.js';
import type { Events } from './events.js';
import type { Pinned, PinnedMemory } from './pinned.js';

/** What all streams of a device share. */
export interface Parts {
  readonly context: Context;
  readonly pinned: PinnedMemory;
  /** Events before work, after work (a thread may sleep on them), and without times. */
  readonly starts: Events;
  readonly ends: Events;
  readonly plain: Events;
  /** Rings of streams that are gone: to lock one takes 4 ms, to unlock one may wait for everything that runs. */
  readonly rings: Pinned[];
  /** Copies between plain memory and rings. */
  readonly crew: Crew;
}

/** A stream of the driver that does not wait for the default stream, with its way for plain memory of the host. */
export class CudaStream {
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
      alloc: (bytes) => rings.pop() ?? pinned.alloc(bytes),
      copy: (to, from, bytes) => crew.copy(to, from, bytes),
      toDevice(to, from, bytes) {
        // SAFETY: `from` is a stretch of the ring, which is page-locked; `to` was checked when the command was queued.
        const code = api.cuMemcpyHtoDAsync(to, from, bytes, handle);
        errors.check('cuMemcpyHtoDAsync', code, `a write of ${bytes} bytes`);
      },
      toHost(to, from, bytes) {
        // SAFETY: as above, the other way.
        const code = api.cuMemcpyDtoHAsync(to, from, bytes, handle);
        errors.check('cuMemcpyDtoHAsync', code, `a read of ${bytes} bytes`);
      },
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

  /** Holds this stream back until another has done what it was given so far. */
  follow(other: CudaStream): void {
    const { plain, context } = this.#parts;
    const event = plain.record(other.handle);
    plain.give(event); // who waits for it waits for what was recorded until now
    context.errors.check('cuStreamWaitEvent', context.api.cuStreamWaitEvent(this.handle, event, 0));
  }

  /** True when everything it was given is done, or can never be. */
  isIdle(): boolean {
    return this.#parts.context.api.cuStreamQuery(this.handle) !== Cuda.notReady;
  }

  destroy(): void {
    const { context, rings } = this.#parts;
    context.api.cuStreamDestroy(this.handle);
    const { memory, waiting } = this.staging;
    if (memory && !waiting) rings.push(memory); // where bytes are still on their way it goes with the device
  }
}
