import { HEADER_WORDS, Header } from '../../kernel/grid.js';
import type { DriverLaunch, HostBytes } from '../gpu/driver.js';
import type { DriverLine } from '../gpu/line-driver.js';
import { addressOf } from '../native/libc.js';
import { CELL_BYTES, type Cell, type Cells } from './cells.js';
import type { Epoch } from './epoch.js';
import type { DeviceMemory, Memory } from './memory.js';
import { Moving } from './moving.js';
import type { OpenClProgram } from './program.js';
import { CommandQueue, type Event } from './queue.js';
import { nextSlice } from './slice.js';
import { Stage, type StageParts } from './stage.js';

/** What the lines of a device share. */
export interface Shop extends StageParts {
  readonly memory: DeviceMemory;
  readonly cells: Cells;
  readonly lines: ReadonlySet<OpenClLine>;
  /** With telemetry: launches are timed apart from copies. */
  readonly isDetailed: boolean;
}

export interface OpenClMark {
  readonly line: OpenClLine;
  /** Passes after everything before the mark. */
  readonly event: Event;
  /** Of the first and the last command; undefined where there was none. */
  readonly first: Event | undefined;
  readonly last: Event | undefined;
  readonly launches: LaunchEvents | undefined;
  readonly sentNs: bigint;
  /** One for all launches of a program since the last mark. */
  readonly statuses: ReadonlyMap<OpenClProgram, Cell>;
  /** A launch was cut short. */
  readonly cut: boolean;
  /** Marks of other lines that it came after. */
  after: readonly OpenClMark[];
  /** What the commands read from the host. */
  held: readonly unknown[];
  passed: boolean;
  endedNs: bigint;
}

/** Of the first launch and of the last. */
export interface LaunchEvents {
  readonly first: Event;
  last: Event;
}

/** Several blocks of the largest size: 2^16 words travel from the main thread at most. */
const BLOCK_RING_BYTES = 2 ** 20;
/** Slices of one launch in flight: one that runs and one that waits. */
const SLICES = 2;

interface Slice {
  readonly event: Event;
  readonly items: number;
}

/** A line of the board on a queue of its own. Commands are in the queue when their method returns true. */
export class OpenClLine implements DriverLine<Memory, OpenClProgram, OpenClMark> {
  readonly number: number;
  readonly queue: CommandQueue;
  readonly stage: Stage;
  /** For launch blocks: a stream that transfers nothing needs no ring of 16 MiB. */
  readonly #sending: Stage;
  readonly epoch: Epoch;
  /** The end of the last mark that passed. */
  endedNs = 0n;
  readonly #shop: Shop;
  /** Allocations that this queue has waited for. */
  #seen = 0;
  // Since the last mark.
  #sentNs = 0n;
  #first: Event | undefined;
  #last: Event | undefined;
  #launches: LaunchEvents | undefined;
  #statuses = new Map<OpenClProgram, Cell>();
  #held: unknown[] = [];
  #after: OpenClMark[] = [];
  #cut = false;
  /** The launch at hand: where its next slice begins, how large the last was, and those in flight. */
  #next = 0;
  #lastItems = 0;
  #slices: Slice[] = [];
  readonly #moving: Moving;
  /** For launch blocks and counts: the queue is in order, so one is enough; of blocks the last, which is the largest. */
  readonly #blocks: Memory[] = [];
  #counted: Memory | undefined;

  constructor(number: number, shop: Shop, epoch: (queue: CommandQueue) => Epoch) {
    this.number = number;
    this.#shop = shop;
    this.queue = new CommandQueue(shop.context);
    this.epoch = epoch(this.queue);
    this.#moving = new Moving(shop.events, shop.context.shares);
    this.stage = new Stage(shop, this.queue, (event) => this.#note(shop.events.retain(event)));
    this.#sending = new Stage(shop, this.queue, () => undefined, BLOCK_RING_BYTES);
  }

  /** When a transfer that is under way wants to go on. */
  get again(): number | undefined {
    return this.stage.again;
  }

  begin(): void {
    this.#sentNs = process.hrtime.bigint();
  }

  write(to: Memory, offset: number, { address = 0, bytes, locked }: HostBytes): boolean {
    this.#catchUp();
    if (this.#reaches(locked)) return this.#move(bytes, () => this.queue.write(to.handle, offset, address, bytes));
    return this.#roomy(this.#isClear(address, bytes) && this.stage.write(to.handle, offset, address, bytes));
  }

  read(from: Memory, offset: number, { address = 0, bytes, locked }: HostBytes): boolean {
    this.#catchUp();
    if (this.#reaches(locked)) return this.#move(bytes, () => this.queue.read(from.handle, offset, address, bytes));
    return this.#roomy(this.#isClear(address, bytes) && this.stage.read(from.handle, offset, address, bytes));
  }

  copy(from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean {
    this.#catchUp();
    this.#note(this.queue.copy(from.handle, fromOffset, to.handle, toOffset, bytes));
    return true;
  }

  fill(memory: Memory, offset: number, word: number, bytes: number): boolean {
    this.#catchUp();
    this.#note(this.queue.fill(memory.handle, offset, word, bytes));
    return true;
  }

  /** All of it at once on a GPU; in slices on a CPU, as many as may be in flight: false while some are left. */
  launch(launch: DriverLaunch<Memory, OpenClProgram>): boolean {
    try {
      const sent = this.#send(launch);
      if (sent) this.#next = 0;
      return this.#roomy(sent);
    } catch (error) {
      this.#next = 0; // the command has failed: it does not come again
      throw error;
    }
  }

  wait(mark: OpenClMark): boolean {
    this.queue.wait(mark.event);
    this.#after.push(mark);
    return true;
  }

  mark(): OpenClMark {
    const { cells, events } = this.#shop;
    let event: Event | undefined;
    for (const { handle, address } of cells.direct ? [] : this.#statuses.values()) {
      if (event !== undefined) events.release(event);
      event = this.queue.read(handle, 0, address, CELL_BYTES);
    }
    event ??= this.queue.marker();
    this.queue.flush();
    const mark: OpenClMark = {
      line: this,
      event,
      first: this.#first,
      last: this.#last,
      launches: this.#launches,
      sentNs: this.#sentNs,
      statuses: this.#statuses,
      cut: this.#cut,
      after: this.#after,
      held: this.#held,
      passed: false,
      endedNs: 0n,
    };
    this.#first = undefined;
    this.#last = undefined;
    this.#launches = undefined;
    this.#statuses = new Map();
    this.#cut = false;
    this.#after = [];
    this.#held = [];
    return mark;
  }

  destroy(): void {
    const { memory, events } = this.#shop;
    this.#forgetSlices();
    this.#moving.destroy();
    const own = [this.#first, this.#last, this.#launches?.first, this.#launches?.last];
    for (const event of own) if (event !== undefined) events.release(event);
    for (const held of [...this.#blocks, this.#counted]) if (held) memory.free(held);
    this.stage.destroy();
    this.#sending.destroy();
    this.epoch.release();
    this.queue.destroy();
  }

  #send({ program, block, epoch, count, countFrom, buffers }: DriverLaunch<Memory, OpenClProgram>): boolean {
    const at = this.#blockMemory(block.byteLength);
    this.#catchUp();
    if (this.#next === 0) this.#forgetSlices();
    while (this.#next < count) {
      const stopped = this.epoch.now() !== epoch;
      if (stopped && this.#next > 0) {
        this.#cut = true;
        return true;
      }
      // What is counted on the device, or stops, may have done less than it was told to.
      this.#settleSlices(countFrom || stopped ? undefined : program);
      if (this.#slices.length >= SLICES) return false;
      const items = this.#nextSlice(program, count - this.#next);
      // The header alone changes from slice to slice.
      const words = this.#next === 0 ? block : block.slice(0, HEADER_WORDS);
      words[Header.first] = this.#next;
      words[Header.last] = this.#next + items - 1;
      if (!this.#sendWords(at, words)) return false;
      const counted = this.#next === 0 ? this.#count(countFrom) : countFrom ? (this.#counted?.handle ?? 0) : 0;
      this.epoch.before(this.queue);
      const event = program.launch(this.queue, items, this.#handles(program, at, counted, buffers));
      this.#slices.push({ event: this.#shop.events.retain(event), items });
      if (this.#shop.isDetailed) this.#noteLaunch(event);
      this.#note(event);
      this.#next += items;
      this.#lastItems = items;
    }
    return true;
  }

  #nextSlice({ shape, most, itemNs }: OpenClProgram, left: number): number {
    if (!this.#shop.context.device.isCpu) return left;
    const { itemsPerGroup: unit } = shape;
    return nextSlice({ left, last: this.#lastItems, itemNs, wave: most * unit, unit });
  }

  /** False when there is no room for them yet. Where they are read in place, nobody may change them from here on. */
  #sendWords(to: Memory, words: Uint32Array): boolean {
    if (!this.#shop.context.shares) return this.#sending.write(to.handle, 0, addressOf(words), words.byteLength);
    this.#held.push(words);
    this.#shop.events.release(this.queue.write(to.handle, 0, addressOf(words), words.byteLength));
    return true;
  }

  /** Forgets slices that have passed; what they took is told to `program`. */
  #settleSlices(program: OpenClProgram | undefined): void {
    const { events } = this.#shop;
    for (let [slice] = this.#slices; slice && events.status(slice.event) <= 0; [slice] = this.#slices) {
      const [from, to] = [events.startedNs(slice.event), events.endedNs(slice.event)];
      if (program && from !== undefined && to !== undefined)
        program.itemNs = Math.max(1, Number(to - from)) / slice.items;
      events.release(slice.event);
      this.#slices.shift();
    }
  }

  #forgetSlices(): void {
    for (const { event } of this.#slices.splice(0)) this.#shop.events.release(event);
    this.#lastItems = 0;
  }

  #handles(program: OpenClProgram, block: Memory, counted: number, buffers: readonly Memory[]) {
    let status = this.#statuses.get(program);
    if (status === undefined) {
      status = this.#shop.cells.take(this.queue);
      this.#statuses.set(program, status);
    }
    return { block: block.handle, counted, cancel: this.epoch.handle, status: status.handle, buffers };
  }

  #blockMemory(bytes: number): Memory {
    const known = this.#blocks.at(-1);
    if (known && known.bytes >= bytes) return known;
    const block = this.#shop.memory.alloc(Math.max(1024, 2 ** Math.ceil(Math.log2(bytes))));
    this.#blocks.push(block);
    return block;
  }

  /** The count of a launch, at a place of its own: kernels cannot be given a word in the middle of a buffer. */
  #count(from: DriverLaunch<Memory, OpenClProgram>['countFrom']): number {
    if (from === undefined) return 0;
    this.#counted ??= this.#shop.memory.alloc(16);
    this.#catchUp();
    this.#shop.events.release(this.queue.copy(from.memory.handle, from.offset, this.#counted.handle, 0, 4));
    return this.#counted.handle;
  }

  /** What was allocated since this queue last looked must have been zeroed before it is used. */
  #catchUp(): void {
    const { memory } = this.#shop;
    if (this.#seen === memory.made) return;
    if (memory.last !== undefined) this.queue.wait(memory.last);
    this.#seen = memory.made;
  }

  /** Does the platform move these bytes itself, without holding this thread up? A CPU reaches all memory. */
  #reaches(locked: boolean): boolean {
    return locked || this.#shop.context.shares;
  }

  /** False where enough bytes are on their way. */
  #move(bytes: number, send: () => Event): boolean {
    if (!this.#moving.hasRoom(bytes)) return this.#roomy(false);
    const event = send();
    this.#moving.add(event, bytes);
    this.#note(event);
    return true;
  }

  /** May the host's side of a staged transfer be touched now? See `CudaLine`. */
  #isClear(address: number, bytes: number): boolean {
    if (this.stage.underway) return true;
    for (const { stage } of this.#shop.lines) if (stage.awaits(address, bytes)) return false;
    return true;
  }

  /** What is waited for must have been sent. */
  #roomy(sent: boolean): boolean {
    if (!sent) this.queue.flush();
    return sent;
  }

  #noteLaunch(event: Event): void {
    const { events } = this.#shop;
    if (this.#launches) events.release(this.#launches.last);
    this.#launches ??= { first: events.retain(event), last: event };
    this.#launches.last = events.retain(event);
  }

  #note(event: Event): void {
    const { events } = this.#shop;
    this.#first ??= events.retain(event);
    if (this.#last !== undefined) events.release(this.#last);
    this.#last = event;
  }
}
