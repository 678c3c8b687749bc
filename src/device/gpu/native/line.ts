import type { DriverLaunch, HostBytes } from '../worker/driver.js';
import type { Epoch } from './epoch.js';
import type { LockedRegion } from './locked-memory.js';
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
  readonly commandCount: number;
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
  readonly lines: ReadonlySet<{ readonly staging: PinnedRing<LockedRegion> }>;
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
  abstract readonly staging: PinnedRing<LockedRegion>;
  abstract readonly epoch: Pick<Epoch<never>, 'device' | 'setEpoch'>;
  /** The end of the last mark that completed. */
  endedNs = 0n;
  /** Since the last mark: when the first command was sent, and the status slots of launches. */
  protected sentNs = 0n;
  protected statuses = new Map<Program, StatusSlot>();
  readonly #resources: NativeResources<Memory>;
  /** The value of `commandCount` up to which this stream has waited. */
  #seenCommands = 0;
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
  protected abstract queueMemoryWait(): void;
  /** True if the runtime transfers these bytes itself, without blocking this thread. */
  protected canAccess(locked: boolean): boolean {
    return locked;
  }
  /** False while too many bytes are in flight. */
  protected hasSpace(_bytes: number): boolean {
    return true;
  }
  /** Called when a transfer that the runtime makes by itself has been sent. */
  protected transferSent(event: Event, _bytes: number): void {
    this.commandSent(event);
  }
  /** Called when a command has been sent. */
  protected abstract commandSent(event: Event): void;
  /** Zeroes a slot, before the next launch. */
  protected abstract clear(slot: StatusSlot): void;
  /** Reports whether a command is completely in the queue. If not, it waits for those already there. */
  protected flushUnlessSent(isSent: boolean): boolean {
    return isSent;
  }

  /** In how many ms a transfer in progress should be resumed; undefined: not by itself. */
  get resumeMs(): number | undefined {
    return this.staging.resumeMs;
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
    this.waitForNewMemory();
    this.commandSent(this.queue.copy(from.device, fromOffset, to.device, toOffset, bytes));
    return true;
  }

  fill(memory: Memory, offset: number, word: number, bytes: number): boolean {
    this.waitForNewMemory();
    this.commandSent(this.queue.fill(memory.device, offset, word, bytes));
    return true;
  }

  /** Called when all of its marks have completed, or the device is ending. */
  destroy(): void {
    for (const block of this.#blocks) this.#resources.memory.free(block);
  }

  /** Memory allocated since this stream's last command must be zeroed before it is used. */
  protected waitForNewMemory(): void {
    const { commandCount } = this.#resources.memory;
    if (this.#seenCommands === commandCount) return;
    this.queueMemoryWait();
    this.#seenCommands = commandCount;
  }

  /** Returns the status slot for the launches of a program. */
  protected statusSlot(program: Program): StatusSlot {
    let slot = this.statuses.get(program);
    if (slot === undefined) {
      slot = this.#resources.slots.acquire();
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
    this.waitForNewMemory();
    if (!this.canAccess(locked)) {
      return this.flushUnlessSent(
        this.#isHostRangeFree(address, bytes) && this.staging[kind](memory.device, offset, address, bytes),
      );
    }
    if (!this.hasSpace(bytes)) return this.flushUnlessSent(false);
    this.transferSent(this.queue[kind](memory.device, offset, address, bytes), bytes);
    return true;
  }

  /**
   * True if the host side of a staged transfer may be accessed now. It may not while bytes from any stream are being
   * read into it: the host's copies are not ordered with the device's work. Those bytes arrive without anything else
   * being sent, so the wait ends. A transfer in progress has checked already.
   */
  #isHostRangeFree(address: number, bytes: number): boolean {
    if (this.staging.isPartlyDone) return true;
    for (const { staging } of this.#resources.lines) if (staging.isReadingInto(address, bytes)) return false;
    return true;
  }
}

const isSet = (word: number): boolean => word !== 0;
