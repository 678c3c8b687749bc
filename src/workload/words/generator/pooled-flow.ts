import type { Completion, Device, Stream } from '../../../device/device.js';
import type { Flow, FlowSlot, OpenFlow, Overflow } from '../../../engine/flow/flow.js';
import type { Piece } from '../../../engine/work/space.js';
import type { Plan } from '../kernel/plan.js';
import { wordFlow } from './flow.js';

/**
 * A mask's flow whose buffers and page-locked memory outlive the jobs that use them: ten thousand small batches allocate
 * no more than the first one. Slots return to the stream they belong to.
 */
export class PooledFlow {
  readonly #flow: Flow<Uint8Array>;
  readonly #opening = new Map<Device, Promise<OpenFlow<Uint8Array>>>();
  readonly #opened = new Map<Device, OpenFlow<Uint8Array>>();
  readonly #free = new Map<Stream, FlowSlot<Uint8Array>[]>();
  #slotsMade = 0;
  #isClosed = false;

  constructor(plan: Plan, words: bigint, batchBytes?: number) {
    this.#flow = wordFlow(plan, { batchBytes, words });
  }

  /** Slots that were ever made. */
  get slotsMade(): number {
    return this.#slotsMade;
  }

  /** The flow for a job whose index 0 is the word `first`. */
  startingAt(first: bigint): Flow<Uint8Array> {
    return {
      name: this.#flow.name,
      open: (device) => {
        const view = (opened: OpenFlow<Uint8Array>): OpenFlow<Uint8Array> => ({
          device,
          shape: opened.shape,
          lanes: opened.lanes,
          slot: (stream) => this.slot(opened, stream, first),
          close: () => undefined,
        });
        const ready = this.#opened.get(device);
        return ready ? view(ready) : this.openOn(device).then(view);
      },
    };
  }

  /** The flow on a device, opened once. */
  openOn(device: Device): Promise<OpenFlow<Uint8Array>> {
    const known = this.#opening.get(device);
    if (known) return known;
    const opening = openInOrder(device, async () => this.#flow.open(device));
    this.#opening.set(device, opening);
    opening.then(
      (opened) => this.#opened.set(device, opened),
      () => this.#opening.delete(device),
    );
    return opening;
  }

  /** Returns a slot on a stream, reused or new. */
  slot(opened: OpenFlow<Uint8Array>, stream: Stream, first = 0n): FlowSlot<Uint8Array> | Promise<FlowSlot<Uint8Array>> {
    const free = this.#free.get(stream) ?? [];
    this.#free.set(stream, free);
    const pooled = (slot: FlowSlot<Uint8Array>): FlowSlot<Uint8Array> =>
      new PooledSlot(slot, first, () => {
        if (this.#isClosed) slot.close();
        else free.push(slot);
      });
    const waiting = free.pop();
    if (waiting) return pooled(waiting);
    this.#slotsMade++;
    return Promise.resolve(opened.slot(stream)).then(pooled);
  }

  /** Frees everything that is not in use, and the rest when it is returned. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const slot of [...this.#free.values()].flat()) slot.close();
    this.#free.clear();
    for (const opening of this.#opening.values()) {
      opening.then(
        (opened) => opened.close(),
        () => undefined,
      );
    }
  }
}

/** A slot for a job whose index 0 is the word `first`. */
class PooledSlot implements FlowSlot<Uint8Array> {
  readonly #slot: FlowSlot<Uint8Array>;
  readonly #first: bigint;
  readonly close: () => void;

  constructor(slot: FlowSlot<Uint8Array>, first: bigint, close: () => void) {
    this.#slot = slot;
    this.#first = first;
    this.close = close;
  }

  get copiedBytes(): FlowSlot<Uint8Array>['copiedBytes'] {
    return this.#slot.copiedBytes;
  }

  submit({ start, count }: Piece): Completion {
    return this.#slot.submit({ start: this.#first + start, count });
  }

  reap({ start, count }: Piece): Uint8Array | Overflow {
    return this.#slot.reap({ start: this.#first + start, count });
  }
}

/** Opens flows on a device one at a time: opening briefly takes a stream, and a device has some dozens. */
function openInOrder<T>(device: Device, open: () => Promise<T>): Promise<T> {
  const opening = (lastOpening.get(device) ?? Promise.resolve()).then(open);
  lastOpening.set(
    device,
    opening.catch(() => undefined),
  );
  return opening;
}

const lastOpening = new WeakMap<Device, Promise<unknown>>();
