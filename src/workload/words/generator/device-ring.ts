import type { BoundJob, Completion, Device, DeviceBuffer, HostMemory, Stream } from '../../../device/device.js';
import { programOf } from '../../../engine/flow/programs.js';
import type { Plan } from '../kernel/plan.js';
import { type Layout, separatorOf } from '../space/layout.js';
import { kernelOn, launchExtent } from './flow.js';

/** Words that stay on their device: word i begins at byte `i × stride` of the buffer. */
export interface DeviceBatch {
  readonly buffer: DeviceBuffer;
  readonly start: bigint;
  readonly words: number;
  readonly wordBytes: number;
  readonly stride: number;
  readonly bytes: number;
  readonly layout: Layout;
  /** The event: other streams `wait` for it, the host awaits `ready.done`. */
  readonly ready: Completion;
  /** Frees the memory now, before the ring reuses it. Idempotent. */
  free(): void;
}

/**
 * Device batches of one mask: a ring of buffers, so that one is filled while others are read. With n slots in the ring,
 * a batch is valid until n further ones are requested. A slot also holds the other memory that its launch needs.
 */
export class DeviceRing {
  readonly #device: Device;
  readonly #plan: Plan;
  readonly #job: BoundJob;
  readonly #tables: DeviceTables;
  readonly #slots: RingSlot[];
  #next = 0;
  #lastLaunch: Promise<unknown> = Promise.resolve();

  private constructor(device: Device, plan: Plan, job: BoundJob, tables: DeviceTables, slots: number) {
    this.#device = device;
    this.#plan = plan;
    this.#job = job;
    this.#tables = tables;
    this.#slots = Array.from({ length: slots }, () => ({}));
  }

  static async open(device: Device, mask: Plan, slots: number): Promise<DeviceRing> {
    const { kernel, run } = kernelOn(device);
    const plan = mask.withRun(run);
    const program = await programOf(device, kernel);
    const stream = device.stream();
    const buffers: DeviceBuffer[] = [];
    const put = async (bytes: Uint8Array): Promise<DeviceBuffer> => {
      const buffer = await device.alloc(bytes.length);
      buffers.push(buffer);
      stream.write(buffer, bytes);
      return buffer;
    };
    try {
      const tables = { near: await put(plan.near), middle: await put(plan.middle) };
      await stream.mark().done;
      return new DeviceRing(device, plan, program.bind(plan.job), tables, slots);
    } catch (error) {
      for (const buffer of buffers) buffer.free();
      throw error;
    } finally {
      stream.close();
    }
  }

  /** Queues a batch on a stream. `into` is the caller's memory (`requiredBytes`); default: the ring's. */
  launch(stream: Stream, start: bigint, words: number, layout: Layout, into?: DeviceBuffer): Promise<DeviceBatch> {
    // Sequential: a slot is taken when the previous launch has recorded its event.
    const launched = this.#lastLaunch.then(() => this.#launch(stream, start, words, layout, into));
    this.#lastLaunch = launched.catch(() => undefined);
    return launched;
  }

  async #launch(
    stream: Stream,
    start: bigint,
    words: number,
    layout: Layout,
    into: DeviceBuffer | undefined,
  ): Promise<DeviceBatch> {
    const slot = this.#slots[this.#next] as RingSlot;
    this.#next = (this.#next + 1) % this.#slots.length;
    await slot.ready?.done.catch(() => undefined);
    const { stride } = this.#plan;
    const extent = launchExtent(this.#plan, kernelOn(this.#device).quads, words);
    const farBytes = this.#plan.farBytes(extent.quads);
    const out = into ?? (await this.#grow(slot, 'out', extent.quads * 16));
    const far = await this.#grow(slot, 'far', farBytes);
    if (slot.host === undefined || slot.host.bytes.length < farBytes) {
      slot.host?.free();
      slot.host = undefined;
      slot.host = await this.#device.host(farBytes);
    }
    const params = this.#plan.launch(start, extent.quads, slot.host.bytes);
    stream.write(far, params.far);
    const buffers = { ...this.#tables, far, out };
    stream.launch({ job: this.#job, base: 0n, count: extent.items, chunk: params.chunk, buffers });
    const ready = stream.mark();
    ready.done.catch(() => undefined); // the caller that awaits the batch gets the error
    slot.ready = ready;
    return {
      buffer: out,
      start,
      words,
      wordBytes: stride - separatorOf(layout).length,
      stride,
      bytes: extent.bytes,
      layout,
      ready,
      free: () => {
        if (into !== undefined || slot.out !== out) return;
        slot.out = undefined;
        out.free();
      },
    };
  }

  /** Returns the bytes that a destination of `words` words must have: the last item is written whole. */
  requiredBytes(words: number): number {
    return launchExtent(this.#plan, kernelOn(this.#device).quads, words).quads * 16;
  }

  async close(): Promise<void> {
    await Promise.all(this.#slots.map(({ ready }) => ready?.done.catch(() => undefined)));
    for (const { out, far, host } of this.#slots) {
      out?.free();
      far?.free();
      host?.free();
    }
    this.#tables.near.free();
    this.#tables.middle.free();
  }

  async #grow(slot: RingSlot, which: 'out' | 'far', bytes: number): Promise<DeviceBuffer> {
    const before = slot[which];
    if (before !== undefined && before.bytes >= bytes) return before;
    slot[which] = undefined;
    before?.free();
    const buffer = await this.#device.alloc(bytes);
    slot[which] = buffer;
    return buffer;
  }
}

/** The slot of one batch: its output, its far rows on device and host, and the event of its last launch. */
interface RingSlot {
  out?: DeviceBuffer | undefined;
  far?: DeviceBuffer | undefined;
  host?: HostMemory | undefined;
  ready?: Completion | undefined;
}

interface DeviceTables {
  readonly near: DeviceBuffer;
  readonly middle: DeviceBuffer;
}
