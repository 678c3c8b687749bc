import type { Crew } from '../gpu/crew.js';
import { PinnedRing } from '../gpu/pinned-ring.js';
import { addressOf } from '../native/libc.js';
import type { Context } from './context.js';
import type { Events } from './events.js';
import type { Pinned, PinnedMemory } from './pinned.js';
import type { CommandQueue, Event } from './queue.js';

export interface StageParts {
  readonly context: Context;
  readonly events: Events;
  readonly pinned: PinnedMemory;
  /** Copies between plain memory and rings. */
  readonly crew: Crew;
}

/** Transfers of one queue through a ring of page-locked memory, for memory that is not; see `PinnedRing`. */
export class Stage {
  readonly #ring: PinnedRing<Pinned>;
  readonly #pinned: PinnedMemory;
  /** What the transfer at hand goes to or comes from. */
  #memory = 0;

  /** `sent` is told of each command, whose event stays the stage's. */
  constructor(
    { context, events, pinned, crew }: StageParts,
    queue: CommandQueue,
    sent: (event: Event) => void,
    bytes?: number,
  ) {
    this.#pinned = pinned;
    let last: Event = 0;
    const keep = (event: Event): void => {
      last = event;
      sent(event);
    };
    const transport = {
      alloc: (size: number) => pinned.alloc(size) ?? plain(size),
      copy: (to: number, from: number, size: number) => crew.copy(to, from, size),
      toDevice: (to: number, from: number, size: number) => keep(queue.write(this.#memory, to, from, size)),
      toHost: (to: number, from: number, size: number) => keep(queue.read(this.#memory, from, to, size)),
      record: () => last,
      passed: (event: Event) => {
        const status = events.status(event);
        if (status > 0) return false;
        events.release(event);
        if (status < 0) throw context.errors.execution(status, 'a transfer');
        return true;
      },
    };
    this.#ring = new PinnedRing(transport, bytes);
  }

  /** False when it has to be called again, with the same arguments. */
  write(memory: number, offset: number, from: number, bytes: number): boolean {
    this.#memory = memory;
    return this.#ring.write(offset, from, bytes);
  }

  read(memory: number, offset: number, into: number, bytes: number): boolean {
    this.#memory = memory;
    return this.#ring.read(offset, into, bytes);
  }

  /** Hands over what has come. */
  settle(): void {
    this.#ring.settle();
  }

  /** The transfer at hand has begun and must be called again; after how many ms, where that is known. */
  get underway(): boolean {
    return this.#ring.underway;
  }
  get again(): number | undefined {
    return this.#ring.again;
  }

  /** Are bytes on their way into this stretch of memory? */
  awaits(address: number, bytes: number): boolean {
    if (!this.#ring.waiting) return false;
    this.#ring.settle();
    return this.#ring.awaits(address, bytes);
  }

  destroy(): void {
    if (this.#ring.memory) this.#pinned.release(this.#ring.memory.address);
  }
}

/** Where the driver has no page-locked memory left, transfers are slower, not impossible. */
function plain(bytes: number): Pinned {
  const own = new Uint8Array(new SharedArrayBuffer(bytes));
  return { bytes: own, address: addressOf(own) };
}
