import type { Crew } from '../gpu/crew.js';
import { PinnedRing } from '../gpu/pinned-ring.js';
import { addressOf } from '../native/libc.js';
import type { Context } from './context.js';
import type { Events } from './events.js';
import type { Pinned, PinnedMemory } from './pinned.js';
import type { CommandQueue, Event } from './queue.js';

export interface StagingParts {
  readonly context: Context;
  readonly events: Events;
  readonly pinned: PinnedMemory;
  /** Copies between plain memory and rings. */
  readonly crew: Crew;
}

/** A ring for the transfers of one queue. `sent` is told of each command, whose event stays the ring's. */
export function stagingOf(
  { context, events, pinned, crew }: StagingParts,
  queue: CommandQueue,
  sent: (event: Event) => void,
  bytes?: number,
): PinnedRing<Pinned> {
  let last: Event = 0;
  const keep = (event: Event): void => {
    last = event;
    sent(event);
  };
  return new PinnedRing(
    {
      alloc: (size) => pinned.alloc(size) ?? plain(size),
      copy: (to, from, size) => crew.copy(to, from, size),
      toDevice: (memory, offset, from, size) => keep(queue.write(memory, offset, from, size)),
      toHost: (memory, offset, into, size) => keep(queue.read(memory, offset, into, size)),
      record: () => last,
      passed: (event) => {
        const status = events.status(event);
        if (status > 0) return false;
        events.release(event);
        if (status < 0) throw context.errors.execution(status, 'a transfer');
        return true;
      },
    },
    bytes,
  );
}

/** Where the driver has no page-locked memory left, transfers are slower, not impossible. */
function plain(bytes: number): Pinned {
  const own = new Uint8Array(new SharedArrayBuffer(bytes));
  return { bytes: own, address: addressOf(own) };
}
