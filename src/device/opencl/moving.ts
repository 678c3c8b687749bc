import type { Events } from './events.js';
import type { Event } from './queue.js';

/** Bytes in flight, on a CPU and on a bus: some 5 ms of copying, so that looking for room costs nothing. */
const SHARED_BYTES = 2 ** 25;
const BUS_BYTES = 2 ** 28;

/**
 * Transfers of one queue that the platform makes by itself, from and to memory of the host. They are kept few: what is in
 * flight when the process ends must come to its end first.
 */
export class Moving {
  readonly #events: Events;
  readonly #most: number;
  readonly #underway: { readonly event: Event; readonly bytes: number }[] = [];
  #bytes = 0;

  constructor(events: Events, shared: boolean) {
    this.#events = events;
    this.#most = shared ? SHARED_BYTES : BUS_BYTES;
  }

  /** One alone may be as large as it likes. */
  hasRoom(bytes: number): boolean {
    for (let [first] = this.#underway; first && this.#events.status(first.event) <= 0; [first] = this.#underway) {
      this.#bytes -= first.bytes;
      this.#events.release(first.event);
      this.#underway.shift();
    }
    return this.#bytes === 0 || this.#bytes + bytes <= this.#most;
  }

  add(event: Event, bytes: number): void {
    this.#underway.push({ event: this.#events.retain(event), bytes });
    this.#bytes += bytes;
  }

  destroy(): void {
    for (const { event } of this.#underway.splice(0)) this.#events.release(event);
  }
}
