import type { Epoch } from '../gpu/native/epoch.js';
import { NativeLine, type NativeMark, type NativeResources } from '../gpu/native/line.js';
import type { StatusSlot } from '../gpu/native/status-slots.js';
import type { DriverLaunch } from '../gpu/worker/driver.js';
import { addressOf } from '../native/libc.js';
import type { DeviceMemory, Memory } from './memory.js';
import type { PinnedMemory } from './pinned.js';
import type { CudaProgram } from './program.js';
import type { Nvtx, RangeId } from './runtime/nvtx.js';
import { CudaStream, type StreamResources } from './stream.js';

/** Resources shared by the lines of a device. */
export interface DeviceResources extends StreamResources, NativeResources<Memory> {
  readonly memory: DeviceMemory;
  readonly pinned: PinnedMemory;
  /** The stream that zeroes memory and sends tables. All others wait for it. */
  readonly service: CudaStream;
  readonly lines: ReadonlySet<CudaLine>;
  /** In `callback` mode: sets a slot's first word when the stream gets there. */
  readonly signal: ((stream: number, slot: StatusSlot) => void) | undefined;
  /** With telemetry: reports launches and copies to profilers. */
  readonly nvtx: Nvtx | undefined;
}

export interface CudaMark extends NativeMark<CudaLine, CudaProgram> {
  readonly start: number;
  readonly end: number;
  readonly signal: StatusSlot | undefined;
  /** Events before the first launch and after the last. */
  readonly launches: LaunchEvents | undefined;
  readonly range: RangeId | undefined;
  /** True if the clock has taken over the event `end`. */
  isClockBase: boolean;
}

export interface LaunchEvents {
  readonly start: number;
  end: number;
}

/** A line of the board on a stream of the driver. */
export class CudaLine extends NativeLine<Memory, CudaProgram, CudaMark, void> {
  readonly queue: CudaStream;
  readonly staging: CudaStream['staging'];
  readonly epoch: Epoch<CudaStream>;
  readonly #resources: DeviceResources;
  // Since the last mark: the event before the first command, and those around launches.
  #start: number | undefined;
  #launches: LaunchEvents | undefined;
  #range: RangeId | undefined;

  constructor(number: number, resources: DeviceResources, epoch: Epoch<CudaStream>) {
    super(number, resources);
    this.queue = new CudaStream(resources);
    this.staging = this.queue.staging;
    this.epoch = epoch;
    this.#resources = resources;
  }

  override begin(): void {
    super.begin();
    this.#start = this.#resources.startEvents.record(this.queue.handle);
    this.#range = this.#resources.nvtx?.start(`millrace stream ${this.number}`);
  }

  launch({ program, block, count, countFrom, buffers }: DriverLaunch<Memory, CudaProgram>): boolean {
    const blockAt = program.shape.launch.byValue ? 0 : this.#sendBlock(block);
    if (blockAt === undefined) return false;
    this.waitForNewMemory();
    this.epoch.delayLaunch(this.queue);
    const addresses = {
      block: blockAt,
      counted: countFrom === undefined ? 0 : countFrom.memory.device + countFrom.offset,
      cancel: this.epoch.device,
      status: this.statusSlot(program).device,
      buffers,
    };
    const { handle } = this.queue;
    const { isDetailed } = this.#resources;
    if (isDetailed) this.#launchTimed(program.name, () => program.launch(handle, count, block, addresses));
    else program.launch(handle, count, block, addresses);
    return true;
  }

  /** Runs a launch between events: the first event of a group stays, the last is replaced. */
  #launchTimed(name: string, launch: () => void): void {
    const { startEvents, nvtx } = this.#resources;
    const { handle } = this.queue;
    const launches = this.#launches ?? { start: startEvents.record(handle), end: 0 };
    const before = this.#launches && launches.end;
    this.#launches = launches;
    if (nvtx) nvtx.around(name, launch);
    else launch();
    launches.end = startEvents.record(handle);
    if (before !== undefined) startEvents.release(before);
  }

  wait({ end, line }: CudaMark): boolean {
    this.queue.wait(end, `stream ${this.number} waits for stream ${line.number}`);
    return true;
  }

  follow(handle: number): boolean {
    this.queue.follow(handle, `stream ${this.number} waits for ${handle}`);
    return true;
  }

  mark(): CudaMark {
    const { endEvents, slots, signal: send } = this.#resources;
    const end = endEvents.record(this.queue.handle);
    const start = this.#start ?? end;
    const sentNs = this.#start === undefined ? process.hrtime.bigint() : this.sentNs;
    const { statuses } = this;
    const launches = this.#launches;
    const range = this.#range;
    this.#start = undefined;
    this.statuses = new Map();
    this.#launches = undefined;
    this.#range = undefined;
    const signal = send && slots.acquire();
    if (signal) {
      this.clear(signal);
      send(this.queue.handle, signal);
    }
    return {
      line: this,
      start,
      end,
      sentNs,
      statuses,
      signal,
      launches,
      range,
      isPassed: false,
      isClockBase: false,
      endedNs: 0n,
    };
  }

  override destroy(): void {
    super.destroy();
    this.queue.destroy();
  }

  protected queueMemoryWait(): void {
    this.queue.follow(this.#resources.service.handle);
  }

  protected commandSent(): void {}

  protected clear({ words }: StatusSlot): void {
    words.fill(0);
  }

  /** Returns the block's address in device memory; undefined if there is no space to send it yet. */
  #sendBlock(block: Uint32Array): number | undefined {
    const { device } = this.blockMemory(block.byteLength);
    this.waitForNewMemory();
    return this.staging.write(device, 0, addressOf(block), block.byteLength) ? device : undefined;
  }
}
