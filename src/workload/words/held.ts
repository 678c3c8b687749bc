import type { Device, Stream } from '../../device/device.js';
import type { Flow, FlowSlot, OpenFlow } from '../../engine/flow.js';
import type { Piece } from '../../engine/space.js';
import { wordFlow } from './flow.js';
import type { Plan } from './plan.js';

/**
 * A mask's flow whose buffers and page-locked memory outlive the jobs that use them: ten thousand small batches allocate
 * what the first one needs and no more. Slots go back to the stream they belong to.
 */
export class HeldFlow {
  readonly #flow: Flow<Uint8Array>;
  readonly #open = new Map<Device, Promise<OpenFlow<Uint8Array>>>();
  readonly #free = new Map<Stream, FlowSlot<Uint8Array>[]>();
  #slots = 0;
  #isClosed = false;

  constructor(plan: Plan, words: bigint, batchBytes?: number) {
    this.#flow = wordFlow(plan, { batchBytes, words });
  }

  /** Slots that were ever made. */
  get slots(): number {
    return this.#slots;
  }

  /** As a job sees it whose index 0 is the word `first`. */
  from(first: bigint): Flow<Uint8Array> {
    return {
      name: this.#flow.name,
      open: async (device) => {
        const opened = await this.on(device);
        return {
          device,
          shape: opened.shape,
          lanes: opened.lanes,
          slot: (stream) => this.slot(opened, stream, first),
          close: () => undefined,
        };
      },
    };
  }

  /** The flow on a device, opened once. */
  on(device: Device): Promise<OpenFlow<Uint8Array>> {
    const opening = this.#open.get(device) ?? inTurn(device, () => this.#flow.open(device));
    this.#open.set(device, opening);
    opening.catch(() => this.#open.delete(device));
    return opening;
  }

  /** A slot on a stream, used before or new. */
  async slot(opened: OpenFlow<Uint8Array>, stream: Stream, first = 0n): Promise<FlowSlot<Uint8Array>> {
    const free = this.#free.get(stream) ?? [];
    this.#free.set(stream, free);
    const waiting = free.pop();
    if (waiting === undefined) this.#slots++;
    const slot = waiting ?? (await opened.slot(stream));
    const at = ({ start, count }: Piece): Piece => ({ start: first + start, count });
    return {
      submit: (piece) => slot.submit(at(piece)),
      reap: (piece) => slot.reap(at(piece)),
      close: () => {
        if (this.#isClosed) slot.close();
        else free.push(slot);
      },
    };
  }

  /** Frees everything that is not in use, and the rest as it comes back. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const slot of [...this.#free.values()].flat()) slot.close();
    this.#free.clear();
    for (const opening of this.#open.values()) {
      opening.then(
        (opened) => opened.close(),
        () => undefined,
      );
    }
  }
}

/** One after the other on a device: opening takes a stream for a moment, of which there are some dozens. */
function inTurn<T>(device: Device, open: () => Promise<T>): Promise<T> {
  const opening = (turns.get(device) ?? Promise.resolve()).then(open);
  turns.set(
    device,
    opening.catch(() => undefined),
  );
  return opening;
}

const turns = new WeakMap<Device, Promise<unknown>>();
