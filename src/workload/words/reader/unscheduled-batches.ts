import type { Stream } from '../../../device/device.js';
import { fitSize } from '../../../engine/feed/chunk-size.js';
import { SLOTS_PER_STREAM } from '../../../engine/feed/slots.js';
import type { FlowSlot, OpenFlow } from '../../../engine/flow/flow.js';
import { minBigint } from '../../../engine/work/space.js';
import { MillraceError } from '../../../kernel/error.js';
import { BatchReader, type ReaderEvents, type RowRequest, type SlotRef } from './batch-reader.js';

/**
 * Batches of one device in order, several chunks in flight, without a job: no other device can take a chunk, so no work
 * is tracked. A job costs the host 0.1 ms, which matters when 100 MB take 2 ms. Slots are reused by the next reader.
 */
export class UnscheduledBatches {
  readonly #opened: OpenFlow<Uint8Array>;
  readonly #streams: readonly Stream[];
  /** Rows of a chunk. */
  readonly #maxRows: number;
  readonly #events: ReaderEvents;
  /** Unused slots, by stream. */
  readonly #free: FlowSlot<Uint8Array>[][];
  readonly #readers = new Set<BatchReader>();
  /** Readers whose slots are being made. */
  readonly #starting = new Set<Promise<BatchReader>>();
  #clock: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(opened: OpenFlow<Uint8Array>, streams: readonly Stream[]) {
    this.#opened = opened;
    this.#streams = streams;
    this.#maxRows = fitSize(opened.shape, opened.shape.max);
    this.#free = streams.map(() => []);
    this.#events = {
      slotFree: (slotRef) => this.#returnSlot(slotRef),
      ended: (reader) => {
        this.#readers.delete(reader);
        if (this.#readers.size === 0) this.#clock?.unref();
      },
      isOnlyReader: () => this.#readers.size === 1,
    };
  }

  /** Returns the reader once its first chunks are submitted: synchronously if it can reuse slots. */
  read(request: RowRequest): BatchReader | Promise<BatchReader> {
    const chunks = (request.count + BigInt(this.#maxRows - 1)) / BigInt(this.#maxRows);
    const slots = Number(minBigint(chunks, BigInt(this.#streams.length * SLOTS_PER_STREAM)));
    const slotRefs: SlotRef[] = [];
    while (slotRefs.length < slots) {
      const stream = slotRefs.length % this.#streams.length;
      const slot = this.#free[stream]?.pop();
      if (slot === undefined) {
        const making = this.#openSlots(slotRefs, slots);
        return this.#trackStarting(making.then(() => this.#start(request, slotRefs)));
      }
      slotRefs.push({ slot, stream });
    }
    return this.#start(request, slotRefs);
  }

  /** Ends all readers. Consumers keep their batches until they release them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#starting);
    await Promise.all([...this.#readers].map((reader) => reader.end()));
    this.#stopClock();
    for (const slots of this.#free) for (const slot of slots.splice(0)) slot.close();
  }

  #trackStarting(reader: Promise<BatchReader>): Promise<BatchReader> {
    this.#starting.add(reader);
    const begun = (): void => void this.#starting.delete(reader);
    reader.then(begun, begun);
    return reader;
  }

  #start(request: RowRequest, slotRefs: SlotRef[]): BatchReader {
    const { device } = this.#opened;
    const config = { info: device.info, streams: this.#streams, slotRefs, maxRows: this.#maxRows };
    const reader = new BatchReader(request, config, this.#events);
    this.#readers.add(reader);
    reader.fill();
    this.#startClock();
    return reader;
  }

  /** Runs one clock for all readers, until a tick finds none: a timer per reader would cost 5 µs. */
  #startClock(): void {
    let isIdle = false;
    this.#clock ??= setInterval(() => {
      for (const reader of this.#readers) reader.tick(TICK_MS);
      if (isIdle && this.#readers.size === 0) this.#stopClock();
      isIdle = this.#readers.size === 0;
    }, TICK_MS);
    this.#clock.ref(); // a hung device would not keep the process alive
  }

  #stopClock(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  /** Makes fewer slots if memory is short, at least one. */
  async #openSlots(slotRefs: SlotRef[], slots: number): Promise<void> {
    try {
      while (slotRefs.length < slots) {
        const stream = slotRefs.length % this.#streams.length;
        const queue = this.#streams[stream] as Stream;
        slotRefs.push({ slot: this.#free[stream]?.pop() ?? (await this.#opened.slot(queue)), stream });
      }
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'device-memory' && slotRefs.length > 0) return;
      for (const slotRef of slotRefs) this.#returnSlot(slotRef);
      throw error;
    }
  }

  #returnSlot({ slot, stream }: SlotRef): void {
    if (this.#isClosed) slot.close();
    else this.#free[stream]?.push(slot);
  }
}

const TICK_MS = 500;
