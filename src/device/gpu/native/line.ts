import type { DriverLaunch, HostBytes } from '../worker/driver.js';
import type { Epoch } from './epoch.js';
import type { Locked } from './locked-memory.js';
import type { PinnedRing } from './pinned-ring.js';
import type { StatusSlot, StatusSlots } from './status-slots.js';

/** Memory of the device. */
export interface NativeMemory {
  /** Identifies the memory to kernels and the runtime: the device's pointer, or a handle of the runtime. */
  readonly device: number;
  readonly bytes: number;
}

/** Allocates a device's memory and zeroes it on a separate stream. */
export interface DeviceMemoryPool<Memory> {
  /** Incremented when that stream gets a command that other streams must wait for. */
  readonly made: number;
  alloc(bytes: number): Memory;
  /** Called when no command still to run refers to the memory. */
  free(memory: Memory): void;
}

/** A stream or queue of the runtime. `Event` is what it returns for a command: an event, or nothing. */
export interface NativeQueue<Event> {
  readonly handle: number;
  write(memory: number, offset: number, from: number, bytes: number): Event;
  read(memory: number, offset: number, into: number, bytes: number): Event;
  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): Event;
  /** Fills whole words. */
  fill(memory: number, offset: number, word: number, bytes: number): Event;
}

/** Resources shared by the lines of a device. */
export interface NativeResources<Memory> {
  readonly memory: DeviceMemoryPool<Memory>;
  readonly pinned: { release(address: number): void };
  readonly slots: StatusSlots;
  readonly lines: ReadonlySet<{ readonly staging: PinnedRing<Locked> }>;
  /** With telemetry: launches are timed separately from copies. */
  readonly isDetailed: boolean;
}

/** The state of a mark, kept until it is released. */
export interface NativeMark<Line, Program> {
  readonly line: Line;
  /** When the first command since the previous mark was sent. */
  readonly sentNs: bigint;
  /** One slot for all launches of a program since the previous mark. */
  readonly statuses: ReadonlyMap<Program, StatusSlot>;
  /** True if a launch was cut short. */
  readonly isCut?: boolean;
  isPassed: boolean;
  endedNs: bigint;
}

/**
 * A line of the board on a stream or queue of the runtime. A command (see `Driver`) is in the runtime's queue when its
 * method returns true.
 */
export abstract class NativeLine<Memory extends NativeMemory, Program, Mark, Event> {
  readonly number: number;
  abstract readonly queue: NativeQueue<Event>;
  /** Transfers from and to pageable memory. */
  abstract readonly staging: PinnedRing<Locked>;
  abstract readonly epoch: Pick<Epoch<never>, 'device' | 'moved'>;
  /** The end of the last mark that passed. */
  endedNs = 0n;
  /** Since the last mark: when the first command was sent, and the status slots of launches. */
  protected sentNs = 0n;
  protected statuses = new Map<Program, StatusSlot>();
  readonly #resources: NativeResources<Memory>;
  /** The value of `made` up to which this stream has waited. */
  #seen = 0;
  /** Memory for launch blocks. The last one is in use, and the largest; one is enough because the stream is in order. */
  readonly #blocks: Memory[] = [];

  constructor(number: number, resources: NativeResources<Memory>) {
    this.number = number;
    this.#resources = resources;
  }

  abstract launch(launch: DriverLaunch<Memory, Program>): boolean;
  abstract wait(mark: Mark): boolean;
  abstract mark(): Mark;
  /** Makes the stream wait until all memory is zeroed. */
  protected abstract followMemory(): void;
  /** True if the runtime transfers these bytes itself, without blocking this thread. */
  protected reaches(locked: boolean): boolean {
    return locked;
  }
  /** False while too many bytes are in flight. */
  protected hasRoom(_bytes: number): boolean {
    return true;
  }
  /** Called when a transfer that the runtime makes by itself has been sent. */
  protected moving(event: Event, _bytes: number): void {
    this.sent(event);
  }
  /** Called when a command has been sent. */
  protected abstract sent(event: Event): void;
  /** Zeroes a slot, before the next launch. */
  protected abstract clear(slot: StatusSlot): void;
  /** Reports whether a command is completely in the queue. If not, it waits for those already there. */
  protected all(isSent: boolean): boolean {
    return isSent;
  }

  /** In how many ms a transfer in progress should be resumed; undefined: not by itself. */
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

  /** Called when all of its marks have passed, or the device is ending. */
  destroy(): void {
    for (const block of this.#blocks) this.#resources.memory.free(block);
  }

  /** Memory allocated since this stream's last command must be zeroed before it is used. */
  protected catchUp(): void {
    const { made } = this.#resources.memory;
    if (this.#seen === made) return;
    this.followMemory();
    this.#seen = made;
  }

  /** Returns the status slot for the launches of a program. */
  protected status(program: Program): StatusSlot {
    let slot = this.statuses.get(program);
    if (slot === undefined) {
      slot = this.#resources.slots.take();
      if (slot.words.some(isSet)) this.clear(slot);
      this.statuses.set(program, slot);
    }
    return slot;
  }

  /** Returns memory for a launch block. */
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
   * True if the host side of a staged transfer may be accessed now. It may not while bytes from any stream are being
   * read into it: the host's copies are not ordered with the device's work. Those bytes arrive without anything else
   * being sent, so the wait ends. A transfer in progress has checked already.
   */
  #isClear(address: number, bytes: number): boolean {
    if (this.staging.underway) return true;
    for (const { staging } of this.#resources.lines) if (staging.awaits(address, bytes)) return false;
    return true;
  }
}

const isSet = (word: number): boolean => word !== 0;
