import type { MillraceError } from '../../kernel/error.js';
import type { DeviceInfo, Sensors } from '../device.js';
import { newCopyMemory, ParallelCopier } from '../gpu/host/parallel-copier.js';
import { CLOSE_MS, endsInTime, type MarkTimes, NativeDriver, sleep } from '../gpu/native/driver.js';
import { type StatusSlot, StatusSlots, splitSlots } from '../gpu/native/status-slots.js';
import { type Driver, type DriverHost, FatalError, type GpuSource } from '../gpu/worker/driver.js';
import { addressOf, loadForever, symbolAddress } from '../native/libc.js';
import { EventClock } from './clock.js';
import { Epochs } from './epoch.js';
import { Events } from './events.js';
import { CudaLine, type CudaMark, type DeviceResources } from './line.js';
import { DeviceMemory, type Memory } from './memory.js';
import { PinnedMemory, type PinnedRegion } from './pinned.js';
import { CudaProgram } from './program.js';
import { CudaGrids } from './resident.js';
import { Cuda } from './runtime/api.js';
import { type Context, openContext } from './runtime/context.js';
import { describeGpu, type Gpu } from './runtime/info.js';
import { openNvtx } from './runtime/nvtx.js';
import { Nvml } from './runtime/sensors.js';
import { CudaStream } from './stream.js';

/** The worker's start data. */
export interface CudaStart {
  readonly ordinal: number;
  /** A library with the function that callbacks call. Without one the GPU writes the word itself. */
  readonly signal?: { readonly library: string; readonly symbol: string };
}

/** Status slots are allocated 512 at a time, in 16 KiB. */
const SLOTS_BYTES = 2 ** 14;

/**
 * The CUDA driver for the loop in `gpu/worker/loop.ts`. Everything here is called on the one thread in which its
 * context is current.
 */
export class CudaDriver
  extends NativeDriver<Memory, CudaProgram, CudaLine, CudaMark>
  implements Driver<Memory, CudaProgram, CudaLine, CudaMark>
{
  readonly info: DeviceInfo;
  readonly grids: CudaGrids;
  protected readonly resources: DeviceResources;
  readonly #context: Context;
  readonly #clock: EventClock;
  readonly #epochs: Epochs;
  /** Closed lines whose stream is not idle. The next line that is closed, or the device, ends them. */
  readonly #closing = new Set<CudaLine>();
  #sensors: CardSensors | undefined | 'unknown' = 'unknown';

  constructor(start: CudaStart, host: DriverHost) {
    super(host);
    this.#context = openContext(start.ordinal, host);
    const { api, errors, gpu, pool, version } = this.#context;
    this.cleanups.push(() => this.#context.close());
    try {
      const pinned = new PinnedMemory(api, errors, gpu.registersHostMemory);
      this.cleanups.push(() => pinned.releaseAll());
      const [startEvents, endEvents, untimedEvents] = [0, Cuda.eventBlockingSync, Cuda.eventDisableTiming].map(
        (flags) => {
          const events = new Events(api, errors, flags);
          this.cleanups.push(() => events.destroyAll());
          return events;
        },
      ) as [Events, Events, Events];
      const copier = new ParallelCopier(host.copyMemory ?? newCopyMemory());
      const parts = { context: this.#context, pinned, startEvents, endEvents, untimedEvents, spareRings: [], copier };
      const [service, control] = ['service', 'control'].map(() => {
        const stream = new CudaStream(parts);
        this.cleanups.push(() => stream.destroy());
        return stream;
      }) as [CudaStream, CudaStream];
      const memory = new DeviceMemory(api, errors, service.handle, pool, gpu.memoryBytes);
      this.cleanups.push(() => memory.freeAll());
      this.#epochs = new Epochs(pinned, memory, { service, control }, host.words, host.completion === 'sync');
      const signal = host.completion === 'callback' ? this.#signals(start.signal) : undefined;
      const slots = new StatusSlots(() => slotsIn(pinned.alloc(SLOTS_BYTES)));
      slots.grow(); // now, so that the first launch need not do it
      const isDetailed = host.calls.on;
      const nvtx = isDetailed ? openNvtx() : undefined;
      if (nvtx) host.log(`ranges for profilers: ${nvtx.path}`);
      this.resources = { ...parts, slots, memory, service, lines: this.lines, signal, isDetailed, nvtx };
      this.#clock = new EventClock(api, errors, endEvents, service.handle);
      this.grids = new CudaGrids(this.resources, this.#context.guard, (words) => this.tables(words));
      this.cleanups.push(() => this.unloadAll());
      this.cleanups.push(() => this.grids.closeAll());
    } catch (error) {
      this.releaseAll();
      throw error instanceof FatalError ? error.error : error;
    }
    this.info = describeGpu(gpu, { cuda: version });
  }

  follow(line: CudaLine, handle: number): boolean {
    return line.follow(handle);
  }

  pointer({ device }: Memory): number {
    return device;
  }

  adopt(pointer: number, bytes: number): Memory {
    return { device: pointer, bytes };
  }

  lock(bytes: number): PinnedRegion | undefined {
    return this.resources.pinned.allocShared(bytes);
  }

  /** In `callback` mode the stream of a line may still be in the callback that reported its last mark. */
  override closeLine(line: CudaLine): void {
    this.#closing.add(line);
    for (const one of this.#closing) {
      if (this.resources.signal && !one.queue.isIdle()) continue;
      this.#closing.delete(one);
      super.closeLine(one);
    }
  }

  occupancy({ occupancy }: CudaProgram): number {
    return occupancy;
  }

  signalled({ signal }: CudaMark): boolean {
    return signal !== undefined && Atomics.load(signal.words, 0) !== 0;
  }

  release(mark: CudaMark): void {
    const { slots, startEvents, endEvents } = this.resources;
    if (mark.signal) slots.releaseSignal(mark.signal);
    if (!mark.isPassed) return; // the GPU may still write: the rest is freed with the device
    if (mark.start !== mark.end) startEvents.release(mark.start);
    if (mark.launches) startEvents.release(mark.launches.start);
    if (mark.launches?.end) startEvents.release(mark.launches.end);
    if (!mark.isClockBase) endEvents.release(mark.end);
    for (const status of mark.statuses.values()) slots.release(status);
  }

  block({ end }: CudaMark): void {
    // The poll that follows reports errors.
    this.#context.api.cuEventSynchronize(end);
  }

  sensors(): Sensors | undefined {
    if (this.#sensors === 'unknown') this.#sensors = openSensors(this.#context.gpu);
    return this.#sensors?.nvml.read(this.#sensors.device);
  }

  close(): boolean {
    if (this.cleanups.length === 0) return true;
    const isQuiet = this.#stopAll();
    if (isQuiet) this.releaseAll();
    else this.host.log(`launches did not end within ${CLOSE_MS} ms: their memory is freed with the process`);
    if (this.#sensors !== 'unknown') this.#sensors?.nvml.close();
    return isQuiet;
  }

  protected tables(words: Uint32Array): Memory {
    const { memory, service } = this.resources;
    const tables = memory.alloc(words.byteLength);
    const from = addressOf(words);
    while (!service.staging.write(tables.device, 0, from, words.byteLength)) sleep(0.2);
    memory.commandCount++; // as for zeroing: other streams wait for it
    return tables;
  }

  protected program(source: GpuSource, tables: Memory | undefined): CudaProgram {
    const { api, errors, gpu } = this.#context;
    const program = new CudaProgram(api, errors, gpu, source, tables);
    const { registers, localBytes, residentGroups } = program;
    this.host.log(
      `kernel ${source.name}: ${registers} registers, ${localBytes} bytes of local memory, ${residentGroups} workgroups at a time`,
    );
    return program;
  }

  protected line(number: number, epochWord: number): CudaLine {
    return new CudaLine(number, this.resources, this.#epochs.open(number, epochWord));
  }

  protected codeOf({ end }: CudaMark): number | undefined {
    const code = this.#context.api.cuEventQuery(end);
    return code === Cuda.notReady ? undefined : code;
  }

  protected errorOf(code: number, work: string): MillraceError | FatalError {
    return this.#context.errors.errorFor('cuEventQuery', code, work);
  }

  protected markPassed({ range }: CudaMark): void {
    if (range !== undefined) this.resources.nvtx?.end(range);
  }

  protected timesOf(mark: CudaMark): MarkTimes {
    const { start, end, sentNs } = mark;
    const launches = this.#launchesOf(mark);
    const times = this.#clock.times(start, end, { sentNs, doneNs: process.hrtime.bigint() });
    mark.isClockBase = this.#clock.isBase(end);
    if (!launches) return times;
    const { startedNs, endedNs } = times;
    const { afterNs, untilNs } = launches;
    return { startedNs, endedNs, launches: { startedNs: startedNs + afterNs, endedNs: startedNs + untilNs } };
  }

  /** How marks are signalled: by a native function on the driver's thread, or by a write of the GPU itself. */
  #signals(callback: CudaStart['signal']): (stream: number, slot: StatusSlot) => void {
    const { api, errors } = this.#context;
    this.host.log(callback ? `callbacks: ${callback.library}` : 'callbacks: written by the GPU (no C compiler)');
    if (callback === undefined) {
      return (stream, { device }) => {
        // SAFETY: a word of a slot that is given back only when this write has been seen.
        const code = api.cuStreamWriteValue32(stream, device, 1, 0);
        errors.check('cuStreamWriteValue32', code, 'a callback');
      };
    }
    const entry = symbolAddress(loadForever(callback.library), callback.symbol);
    return (stream, { address }) => {
      // SAFETY: the function is native and never unloaded; it stores a word of a slot that waits for it, as above.
      errors.check('cuLaunchHostFunc', api.cuLaunchHostFunc(stream, entry, address), 'a callback');
    };
  }

  /** Returns how long after the mark's beginning its first launch began and its last one ended. */
  #launchesOf({ start, launches }: CudaMark): { readonly afterNs: bigint; readonly untilNs: bigint } | undefined {
    if (!launches || launches.end === 0) return undefined;
    const afterNs = this.#clock.elapsedNs(start, launches.start);
    return { afterNs, untilNs: afterNs + this.#clock.elapsedNs(launches.start, launches.end) };
  }

  /** Stops running work; false if something does not stop. */
  #stopAll(): boolean {
    try {
      for (const { epoch } of this.lines) epoch.stop();
    } catch {
      // The device is lost: then nothing runs, as the streams will report.
    }
    this.grids.stop();
    const own = [...this.lines].map(({ queue }) => queue);
    const streams = [this.resources.service, this.#epochs.control, ...this.grids.streams, ...own];
    return endsInTime(() => streams.every((stream) => stream.isIdle())); // also if the device is lost: then nothing runs
  }
}

/** Status slots in page-locked memory: the GPU writes the words that this thread reads. */
const slotsIn = ({ bytes, address, device }: PinnedRegion): StatusSlot[] =>
  splitSlots(
    new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4),
    address,
    (at) => device + (at - address),
  );

interface CardSensors {
  readonly nvml: Nvml;
  readonly device: number;
}

/** Called on first use: the sensors of many devices are never read. */
function openSensors({ busId }: Gpu): CardSensors | undefined {
  const nvml = Nvml.open();
  const device = nvml?.device(busId);
  if (nvml && device !== undefined) return { nvml, device };
  nvml?.close();
  return undefined;
}
