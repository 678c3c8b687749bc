import { LAUNCH_HEADER_WORDS, LaunchHeader } from '../../kernel/abi/grid.js';
import type { ParallelCopier } from '../gpu/host/parallel-copier.js';
import type { Epoch } from '../gpu/native/epoch.js';
import { NativeLine, type NativeMark, type NativeResources } from '../gpu/native/line.js';
import { PinnedRing } from '../gpu/native/pinned-ring.js';
import { SLOT_BYTES, type StatusSlot } from '../gpu/native/status-slots.js';
import type { DriverLaunch } from '../gpu/worker/driver.js';
import { addressOf } from '../native/libc.js';
import type { Events } from './events.js';
import type { DeviceMemory, Memory } from './memory.js';
import type { PinnedMemory, PinnedRegion } from './pinned.js';
import type { OpenClProgram } from './program.js';
import { CommandQueue, type Event } from './queue.js';
import type { Context } from './runtime/context.js';
import { nextSlice } from './slice.js';
import { TransfersInFlight } from './transfers-in-flight.js';

/** Resources shared by the lines of a device. */
export interface DeviceResources extends NativeResources<Memory> {
  readonly context: Context;
  readonly events: Events;
  readonly memory: DeviceMemory;
  readonly pinned: PinnedMemory;
  /** Copies between pageable memory and rings. */
  readonly copier: ParallelCopier;
  readonly lines: ReadonlySet<OpenClLine>;
}

export interface OpenClMark extends NativeMark<OpenClLine, OpenClProgram> {
  /** Completes after everything before the mark. */
  readonly event: Event;
  /** Events of the first and the last command; undefined if there was none. */
  readonly first: Event | undefined;
  readonly last: Event | undefined;
  readonly launches: LaunchEvents | undefined;
  readonly isCut: boolean;
  /** Marks of other lines that this line waited for. */
  waitedFor: readonly OpenClMark[];
  /** Host memory that the commands read. */
  heldData: readonly unknown[];
}

/** Events of the first launch and of the last. */
export interface LaunchEvents {
  readonly first: Event;
  last: Event;
}

/** Space for several blocks of the largest size: the main thread sends at most 2^16 words. */
const BLOCK_RING_BYTES = 2 ** 20;
/** Slices of one launch in flight: one running and one waiting. */
const MAX_SLICES = 2;

interface Slice {
  readonly event: Event;
  readonly items: number;
}

/** A line of the board on its own queue. */
export class OpenClLine extends NativeLine<Memory, OpenClProgram, OpenClMark, Event> {
  readonly queue: CommandQueue;
  readonly staging: PinnedRing<PinnedRegion, Event>;
  /** For launch blocks: a stream that transfers nothing needs no ring of 16 MiB. */
  readonly #blockRing: PinnedRing<PinnedRegion, Event>;
  readonly epoch: Epoch<CommandQueue>;
  readonly #resources: DeviceResources;
  // Since the last mark.
  #first: Event | undefined;
  #last: Event | undefined;
  #launches: LaunchEvents | undefined;
  #heldData: unknown[] = [];
  #waitedFor: OpenClMark[] = [];
  #isCut = false;
  /** The current launch: where its next slice begins, the size of the last, and those in flight. */
  #next = 0;
  #lastItems = 0;
  #slices: Slice[] = [];
  readonly #inFlight: TransfersInFlight;
  /** Memory for counts: the queue is in order, so one is enough. */
  #countMemory: Memory | undefined;

  constructor(number: number, resources: DeviceResources, epoch: (queue: CommandQueue) => Epoch<CommandQueue>) {
    super(number, resources);
    const { context, events } = resources;
    this.#resources = resources;
    this.queue = new CommandQueue(context);
    this.epoch = epoch(this.queue);
    this.#inFlight = new TransfersInFlight(events, context.sharesHostMemory);
    this.staging = this.#ring((event) => this.commandSent(events.retain(event)));
    this.#blockRing = this.#ring(() => undefined, BLOCK_RING_BYTES);
  }

  /**
   * Sends the whole launch at once on a GPU; on a CPU in slices, as many as may be in flight: false while some are
   * left.
   */
  launch(launch: DriverLaunch<Memory, OpenClProgram>): boolean {
    try {
      const sent = this.#send(launch);
      if (sent) this.#next = 0;
      return this.flushUnlessSent(sent);
    } catch (error) {
      this.#next = 0; // the command has failed: it is not called again
      throw error;
    }
  }

  wait(mark: OpenClMark): boolean {
    this.queue.wait(mark.event);
    this.#waitedFor.push(mark);
    return true;
  }

  mark(): OpenClMark {
    const { context, events } = this.#resources;
    const { statuses } = this;
    let event: Event | undefined;
    for (const { device, address } of context.sharesHostMemory ? [] : statuses.values()) {
      if (event !== undefined) events.release(event);
      event = this.queue.read(device, 0, address, SLOT_BYTES);
    }
    event ??= this.queue.marker();
    this.queue.flush();
    const mark: OpenClMark = {
      line: this,
      event,
      first: this.#first,
      last: this.#last,
      launches: this.#launches,
      sentNs: this.sentNs,
      statuses,
      isCut: this.#isCut,
      waitedFor: this.#waitedFor,
      heldData: this.#heldData,
      isPassed: false,
      endedNs: 0n,
    };
    this.#first = undefined;
    this.#last = undefined;
    this.#launches = undefined;
    this.statuses = new Map();
    this.#isCut = false;
    this.#waitedFor = [];
    this.#heldData = [];
    return mark;
  }

  override destroy(): void {
    const { memory, events, pinned } = this.#resources;
    this.#forgetSlices();
    this.#inFlight.destroy();
    const own = [this.#first, this.#last, this.#launches?.first, this.#launches?.last];
    for (const event of own) if (event !== undefined) events.release(event);
    super.destroy();
    if (this.#countMemory) memory.free(this.#countMemory);
    for (const { memory: ring } of [this.staging, this.#blockRing]) if (ring) pinned.release(ring.address);
    this.epoch.release?.();
    this.queue.destroy();
  }

  #send({ program, block, epoch, count, countFrom, buffers }: DriverLaunch<Memory, OpenClProgram>): boolean {
    const { byValue } = program.shape.launch;
    const at = byValue ? undefined : this.blockMemory(block.byteLength);
    this.waitForNewMemory();
    if (this.#next === 0) this.#forgetSlices();
    while (this.#next < count) {
      const stopped = this.epoch.now() !== epoch;
      if (stopped && this.#next > 0) {
        this.#isCut = true;
        return true;
      }
      // A launch that is counted on the device, or stops, may have done fewer items than requested.
      this.#settleSlices(countFrom || stopped ? undefined : program);
      if (this.#slices.length >= MAX_SLICES) return false;
      const items = this.#nextSlice(program, count - this.#next);
      // Only the header changes from slice to slice.
      const words = byValue || this.#next === 0 ? block : block.slice(0, LAUNCH_HEADER_WORDS);
      words[LaunchHeader.first] = this.#next;
      words[LaunchHeader.last] = this.#next + items - 1;
      if (at && !this.#sendWords(at, words)) return false;
      const counted = this.#next === 0 ? this.#count(countFrom) : countFrom ? (this.#countMemory?.device ?? 0) : 0;
      this.epoch.delayLaunch(this.queue);
      const event = program.launch(this.queue, items, block, this.#handles(program, at, counted, buffers));
      this.#slices.push({ event: this.#resources.events.retain(event), items });
      if (this.#resources.isDetailed) this.#noteLaunch(event);
      this.commandSent(event);
      this.#next += items;
      this.#lastItems = items;
    }
    return true;
  }

  #nextSlice({ shape, maxGroups, itemNs }: OpenClProgram, left: number): number {
    if (!this.#resources.context.device.isCpu) return left;
    const { itemsPerGroup: unit } = shape;
    return nextSlice({ left, last: this.#lastItems, itemNs, wave: maxGroups * unit, unit });
  }

  /** False if there is no space for the words yet. On a CPU they are read in place and must not change from here on. */
  #sendWords(to: Memory, words: Uint32Array): boolean {
    if (!this.#resources.context.sharesHostMemory)
      return this.#blockRing.write(to.device, 0, addressOf(words), words.byteLength);
    this.#heldData.push(words);
    this.#resources.events.release(this.queue.write(to.device, 0, addressOf(words), words.byteLength));
    return true;
  }

  /** Releases slices that have completed, and records their time in `program`. */
  #settleSlices(program: OpenClProgram | undefined): void {
    const { events } = this.#resources;
    for (let [slice] = this.#slices; slice && events.status(slice.event) <= 0; [slice] = this.#slices) {
      const [from, to] = [events.startedNs(slice.event), events.endedNs(slice.event)];
      if (program && from !== undefined && to !== undefined)
        program.itemNs = Math.max(1, Number(to - from)) / slice.items;
      events.release(slice.event);
      this.#slices.shift();
    }
  }

  #forgetSlices(): void {
    for (const { event } of this.#slices.splice(0)) this.#resources.events.release(event);
    this.#lastItems = 0;
  }

  #handles(program: OpenClProgram, block: Memory | undefined, counted: number, buffers: readonly Memory[]) {
    const status = this.statusSlot(program).device;
    return { block: block?.device ?? 0, counted, cancel: this.epoch.device, status, buffers };
  }

  /** Copies a launch's count to separate memory: kernels cannot be given a word in the middle of a buffer. */
  #count(from: DriverLaunch<Memory, OpenClProgram>['countFrom']): number {
    if (from === undefined) return 0;
    this.#countMemory ??= this.#resources.memory.alloc(16);
    this.waitForNewMemory();
    this.#resources.events.release(this.queue.copy(from.memory.device, from.offset, this.#countMemory.device, 0, 4));
    return this.#countMemory.device;
  }

  protected queueMemoryWait(): void {
    const { lastEvent } = this.#resources.memory;
    if (lastEvent !== undefined) this.queue.wait(lastEvent);
  }

  /** A CPU accesses all memory. */
  protected override canAccess(locked: boolean): boolean {
    return locked || this.#resources.context.sharesHostMemory;
  }

  protected override hasSpace(bytes: number): boolean {
    return this.#inFlight.hasSpace(bytes);
  }

  protected override transferSent(event: Event, bytes: number): void {
    this.#inFlight.add(event, bytes);
    this.commandSent(event);
  }

  /** Flushes before waiting: commands that are waited for must have been flushed. */
  protected override flushUnlessSent(isSent: boolean): boolean {
    if (!isSent) this.queue.flush();
    return isSent;
  }

  protected commandSent(event: Event): void {
    const { events } = this.#resources;
    this.#first ??= events.retain(event);
    if (this.#last !== undefined) events.release(this.#last);
    this.#last = event;
  }

  protected clear({ words, device }: StatusSlot): void {
    words.fill(0);
    const { context, events } = this.#resources;
    if (!context.sharesHostMemory) events.release(this.queue.fill(device, 0, 0, SLOT_BYTES));
  }

  /** `sent` is called with each command's event, which the ring owns. */
  #ring(sent: (event: Event) => void, bytes?: number): PinnedRing<PinnedRegion, Event> {
    const { context, events, pinned, copier } = this.#resources;
    const transport = {
      queue: this.queue,
      alloc: (size: number) => pinned.alloc(size),
      copy: (to: number, from: number, size: number) => copier.copy(to, from, size),
      record: (event: Event) => {
        sent(event);
        return event;
      },
      passed: (event: Event) => {
        const status = events.status(event);
        if (status > 0) return false;
        events.release(event);
        if (status < 0) throw context.errors.executionError(status, 'a transfer');
        return true;
      },
    };
    return new PinnedRing(transport, bytes);
  }

  #noteLaunch(event: Event): void {
    const { events } = this.#resources;
    if (this.#launches) events.release(this.#launches.last);
    this.#launches ??= { first: events.retain(event), last: event };
    this.#launches.last = events.retain(event);
  }
}
