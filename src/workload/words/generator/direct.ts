import type { Device, Stream } from '../../../device/device.js';
import { type FlowSlot, type OpenFlow, Overflow } from '../../../engine/flow/flow.js';
import type { PooledFlow } from './pooled-flow.js';
import { Status, WordsError } from './status.js';

/**
 * Batches of one chunk each, without a job: two commands and a copy. Several may be in flight; further ones wait until a
 * slot is returned.
 */
export class DirectBatches {
  readonly #flow: PooledFlow;
  readonly #opened: OpenFlow<Uint8Array>;
  readonly #streams: readonly Stream[];
  readonly #free: FlowSlot<Uint8Array>[] = [];
  readonly #waiting: ((slot: FlowSlot<Uint8Array>) => void)[] = [];
  #slotsMade = 0;
  #isClosed = false;

  private constructor(flow: PooledFlow, opened: OpenFlow<Uint8Array>, streams: readonly Stream[]) {
    this.#flow = flow;
    this.#opened = opened;
    this.#streams = streams;
  }

  static async open(flow: PooledFlow, device: Device, streams: readonly Stream[]): Promise<DirectBatches> {
    return new DirectBatches(flow, await flow.openOn(device), streams);
  }

  /** Words of the largest batch. */
  get maxWords(): number {
    return this.#opened.shape.max;
  }

  /** Passes the words to `use` in the device's host memory, which is reused when `use` has ended. */
  async batch<T>(start: bigint, count: number, use: (bytes: Uint8Array) => T | Promise<T>): Promise<T> {
    const slot = await this.#takeSlot();
    try {
      const { complete } = await slot.submit({ start, count }).done;
      const result = slot.reap({ start, count });
      if (!complete || result instanceof Overflow) {
        const asked = `${count} words from ${start} on`;
        throw new WordsError(Status.device, 'the device stopped before the end', asked, 'try again');
      }
      return await use(result);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(slot);
      else if (this.#isClosed) slot.close();
      else this.#free.push(slot);
    }
  }

  /** Batches in flight complete; their slots are freed afterwards. */
  close(): void {
    this.#isClosed = true;
    for (const slot of this.#free) slot.close();
    this.#free.length = 0;
  }

  #takeSlot(): FlowSlot<Uint8Array> | Promise<FlowSlot<Uint8Array>> {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#slotsMade < SLOTS_EACH_STREAM * this.#streams.length) {
      const stream = this.#streams[this.#slotsMade % this.#streams.length] as Stream;
      this.#slotsMade++;
      return this.#flow.slot(this.#opened, stream);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Batches in flight on a stream. */
const SLOTS_EACH_STREAM = 4;
