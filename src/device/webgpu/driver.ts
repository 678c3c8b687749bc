import { balancedGridSize, type GridShape, gridSize } from '../../kernel/abi/grid.js';
import type { DeviceInfo } from '../device.js';
import {
  type Driver,
  type DriverHost,
  type DriverLaunch,
  FatalError,
  type GpuSource,
  type HostBytes,
  type MarkResult,
} from '../gpu/worker/driver.js';
import { collectGarbage } from '../pool/threads/collect.js';
import type { Device, Gpu, Limits } from './api.js';
import { Builder } from './build.js';
import { deviceLost, unexpected } from './errors.js';
import { WebGpuLine } from './line.js';
import { BlockRing } from './memory/blocks.js';
import { DeviceMemory, type Memory } from './memory/memory.js';
import { type CopyBytes, Transfers } from './memory/transfers.js';
import { WordWriter } from './memory/words.js';
import { WebGpuProgram } from './program.js';
import { Launches } from './submit/launches.js';
import { FIRST_GROUPS, Pace } from './submit/slice.js';
import { MarkInterval, StatusSlots } from './submit/status.js';
import { Timeline } from './submit/timeline.js';

export interface DriverParts {
  /** Held as long as the device is used: otherwise Dawn is garbage collected with it. */
  readonly gpu: Gpu;
  readonly device: Device;
  readonly limits: Limits;
  readonly info: DeviceInfo;
  readonly timestamps: boolean;
  /** See `promisesSpin`. */
  readonly spins: boolean;
  /** See `Transfers`. */
  readonly copy?: CopyBytes | undefined;
}

/** Workgroups that the largest GPU holds at a time; few on a CPU, where each copies its tables. */
const RESIDENT_GROUPS = 2048;
const CPU_GROUPS = 1024;
/** How many programs are unloaded between garbage collections. */
const COLLECT_EVERY = 32;
/** A shorter fill takes no time: rings and counters before a launch. */
const QUICK_FILL_BYTES = 2 ** 20;
/** How long the report of a loss may take, after work in flight has failed because of it. */
const LOSS_MS = 100;

const heldGpus = new Set<Gpu>();

/** One `GPUDevice`, of Dawn or of a browser. All commands go through its one queue (`timeline.ts`). */
export class WebGpuDriver implements Driver<Memory, WebGpuProgram, WebGpuLine, MarkInterval> {
  readonly info: DeviceInfo;
  readonly notifies = true;
  readonly #gpu: Gpu;
  readonly #device: Device;
  readonly #host: DriverHost;
  readonly #timeline: Timeline;
  readonly #memory: DeviceMemory;
  readonly #builder: Builder;
  readonly #slots: StatusSlots;
  readonly #transfers: Transfers;
  readonly #launches: Launches;
  #unloaded = 0;
  #fatal: FatalError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    { gpu, device, limits, info, timestamps, spins, copy }: DriverParts,
    words: WordWriter,
    host: DriverHost,
  ) {
    this.info = info;
    this.#gpu = gpu;
    this.#device = device;
    this.#host = host;
    this.#timeline = new Timeline(device, {
      timestamps,
      spins,
      now: () => performance.now(),
      ended: () => host.wake(),
      failed: (cause) => this.#waitFailed(cause),
    });
    const blocks = new BlockRing(device);
    this.#memory = new DeviceMemory(device, info.id);
    this.#builder = new Builder(device, limits);
    this.#slots = new StatusSlots(device);
    this.#transfers = new Transfers(device, this.#timeline, blocks, words, copy);
    const groups = (shape: GridShape, count: number): number =>
      info.processor === 'gpu' ? balancedGridSize(shape, count, RESIDENT_GROUPS) : gridSize(shape, count, CPU_GROUPS);
    this.#launches = new Launches(device, this.#timeline, blocks, this.#slots, groups, spins ? 'thread' : 'page');
    device.onuncapturederror = ({ error }) =>
      this.#fail(new FatalError(unexpected(info.id, 'the runtime refused a command', error)));
    void device.lost.then(({ reason, message }) => this.#fail(new FatalError(deviceLost(info.id, reason, message))));
    heldGpus.add(gpu);
  }

  static async open(parts: DriverParts, host: DriverHost): Promise<WebGpuDriver> {
    const driver = new WebGpuDriver(parts, await WordWriter.make(parts.device), host);
    await driver.#timeline.syncClock();
    return driver;
  }

  alloc(bytes: number): Promise<Memory> {
    return this.#timeline.track(this.#memory.alloc(bytes));
  }

  free(memory: Memory): void {
    this.#memory.free(memory);
  }

  async load(source: GpuSource): Promise<WebGpuProgram> {
    const built = await this.#timeline.trackCompilation(this.#builder.build(source));
    return new WebGpuProgram(this.#device, source, built, new Pace(FIRST_GROUPS[this.info.processor]));
  }

  /** Pipelines have no `destroy`: they are freed by garbage collection. */
  unload(program: WebGpuProgram): void {
    program.unload();
    this.#builder.release(program.text);
    if (++this.#unloaded % COLLECT_EVERY === 0) collectGarbage();
  }

  openLine(): WebGpuLine {
    return new WebGpuLine();
  }
  closeLine(): void {}

  /** Its start is stamped with the first command that takes time: a launch may have to wait for other streams. */
  begin(line: WebGpuLine): void {
    line.interval = new MarkInterval(this.#slots);
  }

  write(line: WebGpuLine, to: Memory, offset: number, from: HostBytes): boolean {
    this.#start(line);
    return this.#transfers.write(line, to.buffer, offset, from);
  }
  read(line: WebGpuLine, from: Memory, offset: number, into: HostBytes): boolean {
    this.#start(line);
    return this.#transfers.read(line, from.buffer, offset, into);
  }
  copy(line: WebGpuLine, from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean {
    this.#start(line);
    return this.#transfers.copy(from.buffer, fromOffset, to.buffer, toOffset, bytes);
  }
  fill(line: WebGpuLine, memory: Memory, offset: number, word: number, bytes: number): boolean {
    if (bytes > QUICK_FILL_BYTES) this.#start(line);
    else this.#check();
    return this.#transfers.fill(memory.buffer, offset, word, bytes);
  }
  launch(line: WebGpuLine, launch: DriverLaunch<Memory, WebGpuProgram>): boolean {
    this.#check();
    return this.#launches.launch(line, launch);
  }

  /** Nothing to do: both are in one queue, and the mark is before this command. */
  wait(): boolean {
    return true;
  }

  mark(line: WebGpuLine): MarkInterval {
    const interval = line.interval ?? new MarkInterval(this.#slots);
    line.interval = undefined;
    interval.stampStart(() => this.#timeline.recording(1));
    interval.read((bytes) => this.#timeline.recording(0, bytes));
    const recording = this.#timeline.recording(1);
    let endedNs = 0n;
    recording.stamp('end', (ns) => {
      endedNs = ns;
    });
    recording.onEnd(() => {
      // Devices may round their clocks; the order of a stream's marks is kept.
      const startedNs = interval.startedNs > line.endedNs ? interval.startedNs : line.endedNs;
      line.endedNs = endedNs > startedNs ? endedNs : startedNs;
      interval.finish(startedNs, line.endedNs);
    });
    return interval;
  }

  poll(interval: MarkInterval): MarkResult | undefined {
    this.#check();
    return interval.result;
  }
  release(): void {}

  cancel(line: WebGpuLine, epoch: number): void {
    line.epoch = epoch;
  }

  nextCallMs(): number | undefined {
    this.#check();
    return this.#timeline.flushAndRequest();
  }

  get napMs(): number {
    return this.#timeline.napMs;
  }

  close(): Promise<void> {
    this.#closing ??= this.#timeline.close(() => this.#device.destroy()).finally(() => heldGpus.delete(this.#gpu));
    return this.#closing;
  }

  /** A lost device first fails the requests in flight, and reports the reason a moment later. */
  #waitFailed(cause: unknown): void {
    const error = new FatalError(unexpected(this.info.id, 'waiting for the queue failed', cause));
    setTimeout(() => this.#fail(error), LOSS_MS);
  }

  #start(line: WebGpuLine): void {
    this.#check();
    line.interval?.stampStart(() => this.#timeline.recording(1));
  }

  #check(): void {
    if (this.#fatal) throw this.#fatal;
  }

  #fail(error: FatalError): void {
    if (this.#closing || this.#fatal) return;
    this.#fatal = error;
    this.#host.wake();
  }
}
