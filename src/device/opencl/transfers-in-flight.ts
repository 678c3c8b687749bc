import type { Events } from './events.js';
import type { Event } from './queue.js';

/** The most bytes in flight, on a CPU and on a bus: some 5 ms of copying, so that checking for space costs nothing. */
const SHARED_BYTES = 2 ** 25;
const BUS_BYTES = 2 ** 28;

/**
 * Transfers of one queue that the platform makes by itself, from and to host memory. They are kept few: transfers in
 * flight must finish before the process can exit.
 */
export class TransfersInFlight {
  readonly #events: Events;
  readonly #maxBytes: number;
  readonly #transfers: { readonly event: Event; readonly bytes: number }[] = [];
  #bytes = 0;

  constructor(events: Events, shared: boolean) {
    this.#events = events;
    this.#maxBytes = shared ? SHARED_BYTES : BUS_BYTES;
  }

  /** A single transfer may have any size. */
  hasSpace(bytes: number): boolean {
    for (let [first] = this.#transfers; first && this.#events.status(first.event) <= 0; [first] = this.#transfers) {
      this.#bytes -= first.bytes;
      this.#events.release(first.event);
      this.#transfers.shift();
    }
    return this.#bytes === 0 || this.#bytes + bytes <= this.#maxBytes;
  }

  add(event: Event, bytes: number): void {
    this.#transfers.push({ event: this.#events.retain(event), bytes });
    this.#bytes += bytes;
  }

  destroy(): void {
    for (const { event } of this.#transfers.splice(0)) this.#events.release(event);
  }
}
