import type { DriverLaunch, HostBytes } from '../gpu/driver.js';
import type { DriverLine } from '../gpu/line-driver.js';
import { addressOf } from '../native/libc.js';
import type { Cell, Cells } from './cells.js';
import type { Epoch } from './epoch.js';
import type { DeviceMemory, Memory } from './memory.js';
import type { Nvtx, RangeId } from './nvtx.js';
import type { CudaProgram } from './program.js';
import { CudaStream, type Parts } from './stream.js';

/** What the lines of a device share. */
export interface Shop extends Parts {
  readonly cells: Cells;
  readonly memory: DeviceMemory;
  /** Memory is zeroed and tables are sent on a stream of their own, which all others wait for. */
  readonly service: CudaStream;
  readonly lines: ReadonlySet<CudaLine>;
  /** In `callback` mode: has a cell's first word set when the stream gets there. */
  readonly signal: ((stream: number, cell: Cell) => void) | undefined;
  /** With telemetry: launches are timed apart from copies, and profilers are told of both. */
  readonly isDetailed: boolean;
  readonly nvtx: Nvtx | undefined;
}

export interface CudaMark {
  readonly line: CudaLine;
  readonly start: number;
  readonly end: number;
  readonly sentNs: bigint;
  /** One for all launches of a program since the last mark. */
  readonly statuses: ReadonlyMap<CudaProgram, Cell>;
  readonly signal: Cell | undefined;
  /** Before the first launch and after the last. */
  readonly launches: LaunchEvents | undefined;
  readonly range: RangeId | undefined;
  passed: boolean;
  /** The clock has taken the event `end` over. */
  kept: boolean;
}

export interface LaunchEvents {
  readonly start: number;
  end: number;
}

/** A line of the board on a stream of the driver. Commands are in the driver's queue when their method returns true. */
export class CudaLine implements DriverLine<Memory, CudaProgram, CudaMark> {
  readonly number: number;
  readonly stream: CudaStream;
  readonly epoch: Epoch;
  /** The end of the last mark that passed. */
  endedNs = 0n;
  readonly #shop: Shop;
  /** Allocations that this stream has waited for. */
  #seen = 0;
  /** Since the last mark: the event before the first command, when it was sent, and where its launches report. */
  #start: number | undefined;
  #sentNs = 0n;
  #statuses = new Map<CudaProgram, Cell>();
  #launches: LaunchEvents | undefined;
  #range: RangeId | undefined;
  /** For launch blocks that do not travel by value: the last is in use, since the stream is in order. */
  readonly #blocks: Memory[] = [];

  constructor(number: number, shop: Shop, epoch: Epoch) {
    this.number = number;
    this.stream = new CudaStream(shop);
    this.epoch = epoch;
    this.#shop = shop;
  }

  /** When a transfer that is under way wants to go on. */
  get again(): number | undefined {
    return this.stream.staging.again;
  }

  begin(): void {
    this.#sentNs = process.hrtime.bigint();
    this.#start = this.#shop.starts.record(this.stream.handle);
    this.#range = this.#shop.nvtx?.start(`millrace stream ${this.number}`);
  }

  write(to: Memory, offset: number, { address = 0, bytes, locked }: HostBytes): boolean {
    this.#catchUp();
    const target = to.address + offset;
    const { staging, handle } = this.stream;
    if (!locked) return this.#isClear(address, bytes) && staging.write(target, address, bytes);
    const { api, errors } = this.#shop.context;
    // SAFETY: both ranges were checked when the command was queued; the source is page-locked and held.
    const code = api.cuMemcpyHtoDAsync(target, address, bytes, handle);
    errors.check('cuMemcpyHtoDAsync', code, `a write of ${bytes} bytes`);
    return true;
  }

  read(from: Memory, offset: number, { address = 0, bytes, locked }: HostBytes): boolean {
    this.#catchUp();
    const source = from.address + offset;
    const { staging, handle } = this.stream;
    if (!locked) return this.#isClear(address, bytes) && staging.read(source, address, bytes);
    const { api, errors } = this.#shop.context;
    // SAFETY: both ranges were checked when the command was queued; the target is page-locked and held.
    const code = api.cuMemcpyDtoHAsync(address, source, bytes, handle);
    errors.check('cuMemcpyDtoHAsync', code, `a read of ${bytes} bytes`);
    return true;
  }

  copy(from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean {
    this.#catchUp();
    const { api, errors } = this.#shop.context;
    // SAFETY: both ranges were checked when the command was queued, and do not overlap.
    const code = api.cuMemcpyDtoDAsync(to.address + toOffset, from.address + fromOffset, bytes, this.stream.handle);
    errors.check('cuMemcpyDtoDAsync', code, `a copy of ${bytes} bytes`);
    return true;
  }

  fill(memory: Memory, offset: number, word: number, bytes: number): boolean {
    this.#catchUp();
    const { api, errors } = this.#shop.context;
    // SAFETY: the range was checked when the command was queued: whole words inside the buffer.
    const code = api.cuMemsetD32Async(memory.address + offset, word, bytes / 4, this.stream.handle);
    errors.check('cuMemsetD32Async', code, `a fill of ${bytes} bytes`);
    return true;
  }

  launch({ program, block, count, countFrom, buffers }: DriverLaunch<Memory, CudaProgram>): boolean {
    const blockAt = program.shape.launch.byValue ? 0 : this.#sendBlock(block);
    if (blockAt === undefined) return false;
    this.#catchUp();
    this.epoch.before(this.stream);
    let status = this.#statuses.get(program);
    if (status === undefined) {
      status = this.#shop.cells.take();
      this.#statuses.set(program, status);
    }
    const addresses = {
      block: blockAt,
      counted: countFrom === undefined ? 0 : countFrom.memory.address + countFrom.offset,
      cancel: this.epoch.device,
      status: status.device,
      buffers,
    };
    const { isDetailed } = this.#shop;
    if (isDetailed) this.#timed(program.name, () => program.launch(this.stream.handle, count, block, addresses));
    else program.launch(this.stream.handle, count, block, addresses);
    return true;
  }

  /** A launch between events: the first of a group stays, the last moves on. */
  #timed(name: string, launch: () => void): void {
    const { starts, nvtx } = this.#shop;
    const { handle } = this.stream;
    const launches = this.#launches ?? { start: starts.record(handle), end: 0 };
    const before = this.#launches && launches.end;
    this.#launches = launches;
    if (nvtx) nvtx.around(name, launch);
    else launch();
    launches.end = starts.record(handle);
    if (before !== undefined) starts.give(before);
  }

  wait({ end, line }: CudaMark): boolean {
    const { api, errors } = this.#shop.context;
    const code = api.cuStreamWaitEvent(this.stream.handle, end, 0);
    errors.check('cuStreamWaitEvent', code, `stream ${this.number} waits for stream ${line.number}`);
    return true;
  }

  follow(handle: number): boolean {
    const { plain, context } = this.#shop;
    const event = plain.record(handle);
    plain.give(event); // who waits for it waits for what was recorded until now
    const code = context.api.cuStreamWaitEvent(this.stream.handle, event, 0);
    context.errors.check('cuStreamWaitEvent', code, `stream ${this.number} waits for ${handle}`);
    return true;
  }

  mark(): CudaMark {
    const { ends, cells, signal: send } = this.#shop;
    const end = ends.record(this.stream.handle);
    const start = this.#start ?? end;
    const sentNs = this.#start === undefined ? process.hrtime.bigint() : this.#sentNs;
    const statuses = this.#statuses;
    const launches = this.#launches;
    const range = this.#range;
    this.#start = undefined;
    this.#statuses = new Map();
    this.#launches = undefined;
    this.#range = undefined;
    const signal = send && cells.take();
    if (signal) send(this.stream.handle, signal);
    return { line: this, start, end, sentNs, statuses, signal, launches, range, passed: false, kept: false };
  }

  destroy(): void {
    for (const block of this.#blocks) this.#shop.memory.free(block);
    this.stream.destroy();
  }

  /** What was allocated since this stream last looked must have been zeroed before it is used. */
  #catchUp(): void {
    const { memory, service } = this.#shop;
    if (this.#seen === memory.made) return;
    this.stream.follow(service);
    this.#seen = memory.made;
  }

  /**
   * May the host's side of a transfer through staging be touched now? Not while bytes are on their way into it, from any
   * stream: what the host copies knows nothing of the order on the device. They arrive without anything else being sent,
   * so waiting for them ends. A transfer that goes on has asked already.
   */
  #isClear(address: number, bytes: number): boolean {
    if (this.stream.staging.underway) return true;
    for (const { stream } of this.#shop.lines) {
      if (!stream.staging.waiting) continue;
      stream.staging.settle();
      if (stream.staging.awaits(address, bytes)) return false;
    }
    return true;
  }

  /** The block's address in device memory; undefined when there is no room to send it yet. */
  #sendBlock(block: Uint32Array): number | undefined {
    let memory = this.#blocks.at(-1);
    if (memory === undefined || memory.bytes < block.byteLength) {
      memory = this.#shop.memory.alloc(block.byteLength);
      this.#blocks.push(memory);
    }
    this.#catchUp();
    const sent = this.stream.staging.write(memory.address, addressOf(block), block.byteLength);
    return sent ? memory.address : undefined;
  }
}
