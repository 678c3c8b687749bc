import type { DriverLaunch, HostBytes } from '../worker/driver.js';
import type { Epoch } from './epoch.js';
import type { Locked } from './locked-memory.js';
import type { PinnedRing } from './pinned-ring.js';
import type { StatusSlot, StatusSlots } from './status-slots.js';

/** Memory of the device. */
export interface NativeMemory {
  /** What kernels and the runtime know it by: the device's pointer, or a handle of the runtime. */
  readonly device: number;
  readonly bytes: number;
}

/** The memory of a device, zeroed on a stream of its own. */
export interface DeviceMemoryPool<Memory> {
  /** Rises when that stream has got something to do that other streams must wait for. */
  readonly made: number;
  alloc(bytes: number): Memory;
  /** No command that is still to run names it. */
  free(memory: Memory): void;
}

/** A stream or queue of the runtime. `Event` is what it gives for a command: an event, or nothing. */
export interface NativeQueue<Event> {
  readonly handle: number;
  write(memory: number, offset: number, from: number, bytes: number): Event;
  read(memory: number, offset: number, into: number, bytes: number): Event;
  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): Event;
  /** Fills whole words. */
  fill(memory: number, offset: number, word: number, bytes: number): Event;
}

/** What the lines of a device share. */
export interface NativeResources<Memory> {
  readonly memory: DeviceMemoryPool<Memory>;
  readonly pinned: { release(address: number): void };
  readonly slots: StatusSlots;
  readonly lines: ReadonlySet<{ readonly staging: PinnedRing<Locked> }>;
  /** With telemetry: launches are timed apart from copies. */
  readonly isDetailed: boolean;
}

/** What a mark of a line keeps until it is released. */
export interface NativeMark<Line, Program> {
  readonly line: Line;
  /** When the first command since the mark before was sent. */
  readonly sentNs: bigint;
  /** One slot for all launches of a program since the mark before. */
  readonly statuses: ReadonlyMap<Program, StatusSlot>;
  /** A launch was cut short. */
  readonly isCut?: boolean;
  isPassed: boolean;
  endedNs: bigint;
}

/**
 * A line of the board on a stream or queue of the runtime. Commands (see `Driver`) are in the runtime's queue when their
 * method returns true.
 */
export abstract class NativeLine<Memory extends NativeMemory, Program, Mark, Event> {
  readonly number: number;
  abstract readonly queue: NativeQueue<Event>;
  /** Transfers from and to memory that is not page-locked. */
  abstract readonly staging: PinnedRing<Locked>;
  abstract readonly epoch: Pick<Epoch<never>, 'device' | 'moved'>;
  /** The end of the last mark that passed. */
  endedNs = 0n;
  /** Since the last mark: when its first command was sent, and where its launches report. */
  protected sentNs = 0n;
  protected statuses = new Map<Program, StatusSlot>();
  readonly #resources: NativeResources<Memory>;
  /** Allocations that this stream has waited for. */
  #seen = 0;
  /** For launch blocks. The last is in use, and the largest: the stream is in order, so one is enough. */
  readonly #blocks: Memory[] = [];

  constructor(number: number, resources: NativeResources<Memory>) {
    this.number = number;
    this.#resources = resources;
  }

  abstract launch(launch: DriverLaunch<Memory, Program>): boolean;
  abstract wait(mark: Mark): boolean;
  abstract mark(): Mark;
  /** Has the stream wait until all memory is zeroed. */
  protected abstract followMemory(): void;
  /** True if the runtime moves these bytes itself, without holding this thread up. */
  protected reaches(locked: boolean): boolean {
    return locked;
  }
  /** False while too many bytes are on their way. */
  protected hasRoom(_bytes: number): boolean {
    return true;
  }
  /** A transfer that the runtime makes by itself has been sent. */
  protected moving(event: Event, _bytes: number): void {
    this.sent(event);
  }
  /** A command has been sent. */
  protected abstract sent(event: Event): void;
  /** Zeroes a slot, before the next launch. */
  protected abstract clear(slot: StatusSlot): void;
  /** Whether a command is all in the queue: where it is not, it waits for what is there. */
  protected all(isSent: boolean): boolean {
    return isSent;
  }

  /** When a transfer that is under way wants to go on, in ms; undefined: not by itself. */
  get again(): number | undefined {
    return this.staging.again;
  }

  begin(): void {
    this.sentNs = process.hrtime.bigint();
  }

  write(to: Memory, offset: number, from: HostBytes): boolean {
    return this.#transfer('write', to, offset, from);
  }

  read(from: Memory, offset: number, into: HostBytes): boolean {
    return this.#transfer('read', from, offset, into);
  }

  copy(from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean {
    this.catchUp();
    this.sent(this.queue.copy(from.device, fromOffset, to.device, toOffset, bytes));
    return true;
  }

  fill(memory: Memory, offset: number, word: number, bytes: number): boolean {
    this.catchUp();
    this.sent(this.queue.fill(memory.device, offset, word, bytes));
    return true;
  }

  /** All of its marks have passed, or the device is at its end. */
  destroy(): void {
    for (const block of this.#blocks) this.#resources.memory.free(block);
  }

  /** What was allocated since this stream last looked must have been zeroed before it is used. */
  protected catchUp(): void {
    const { made } = this.#resources.memory;
    if (this.#seen === made) return;
    this.followMemory();
    this.#seen = made;
  }

  /** Where the launches of a program report. */
  protected status(program: Program): StatusSlot {
    let slot = this.statuses.get(program);
    if (slot === undefined) {
      slot = this.#resources.slots.take();
      if (slot.words.some(isSet)) this.clear(slot);
      this.statuses.set(program, slot);
    }
    return slot;
  }

  /** Memory for a launch block. */
  protected blockMemory(bytes: number): Memory {
    const known = this.#blocks.at(-1);
    if (known && known.bytes >= bytes) return known;
    const block = this.#resources.memory.alloc(Math.max(1024, 2 ** Math.ceil(Math.log2(bytes))));
    this.#blocks.push(block);
    return block;
  }

  #transfer(
    kind: 'write' | 'read',
    memory: Memory,
    offset: number,
    { address = 0, bytes, locked }: HostBytes,
  ): boolean {
    this.catchUp();
    if (!this.reaches(locked)) {
      return this.all(this.#isClear(address, bytes) && this.staging[kind](memory.device, offset, address, bytes));
    }
    if (!this.hasRoom(bytes)) return this.all(false);
    this.moving(this.queue[kind](memory.device, offset, address, bytes), bytes);
    return true;
  }

  /**
   * May the host's side of a transfer through staging be touched now? Not while bytes are on their way into it, from any
   * stream: what the host copies knows nothing of the order on the device. They arrive without anything else being sent,
   * so waiting for them ends. A transfer that is under way has asked already.
   */
  #isClear(address: number, bytes: number): boolean {
    if (this.staging.underway) return true;
    for (const { staging } of this.#resources.lines) if (staging.awaits(address, bytes)) return false;
    return true;
  }
}

const isSet = (word: number): boolean => word !== 0;
