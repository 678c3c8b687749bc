import type { DeviceInfo, Sensors } from '../device.js';
import { Crew, newCrew } from '../gpu/crew.js';
import {
  type Driver,
  type DriverHost,
  FatalError,
  type GpuSource,
  type MarkDetail,
  type MarkResult,
} from '../gpu/driver.js';
import { LineDriver } from '../gpu/line-driver.js';
import type { Locked } from '../gpu/locked-memory.js';
import { statusOf, workOf } from '../gpu/status.js';
import { addressOf, loadForever, symbolIn } from '../native/libc.js';
import { Cuda } from './api.js';
import { type Cell, Cells } from './cells.js';
import { Clock } from './clock.js';
import { type Context, hex, openContext } from './context.js';
import { Epochs } from './epoch.js';
import { Events } from './events.js';
import { describeGpu, type Gpu } from './info.js';
import { CudaLine, type CudaMark, type Shop } from './line.js';
import { DeviceMemory, type Memory } from './memory.js';
import { openNvtx } from './nvtx.js';
import { type Pinned, PinnedMemory } from './pinned.js';
import { CudaProgram } from './program.js';
import { CudaGrids } from './resident.js';
import { Nvml } from './sensors.js';
import { CudaStream } from './stream.js';

/** What the main thread tells the worker. */
export interface CudaStart {
  readonly ordinal: number;
  /** A library with the function that callbacks call; without one the GPU writes the word itself. */
  readonly signal?: { readonly library: string; readonly symbol: string };
}

/** How long `close` waits for launches to notice that they are cancelled. */
const CLOSE_MS = 5000;

/** CUDA for the loop in `gpu/loop.ts`. Everything here is called on the one thread in which its context is current. */
export class CudaDriver
  extends LineDriver<Memory, CudaProgram, CudaLine, CudaMark>
  implements Driver<Memory, CudaProgram, CudaLine, CudaMark>
{
  readonly info: DeviceInfo;
  readonly grids: CudaGrids;
  readonly #host: DriverHost;
  readonly #context: Context;
  readonly #shop: Shop;
  readonly #clock: Clock;
  readonly #epochs: Epochs;
  readonly #programs = new Set<CudaProgram>();
  #sensors: CardSensors | undefined | 'unknown' = 'unknown';

  constructor(start: CudaStart, host: DriverHost) {
    super();
    this.#host = host;
    this.#context = openContext(start.ordinal, host);
    const { api, errors, gpu, pool, version } = this.#context;
    this.undo.push(() => this.#context.close());
    try {
      const pinned = new PinnedMemory(api, errors, gpu.registersHostMemory);
      this.undo.push(() => pinned.releaseAll());
      const [starts, ends, plain] = [0, Cuda.eventBlockingSync, Cuda.eventDisableTiming].map((flags) => {
        const events = new Events(api, errors, flags);
        this.undo.push(() => events.destroyAll());
        return events;
      }) as [Events, Events, Events];
      const crew = new Crew(host.crew ?? newCrew());
      const parts = { context: this.#context, pinned, starts, ends, plain, rings: [], crew };
      const [service, control] = ['service', 'control'].map(() => {
        const stream = new CudaStream(parts);
        this.undo.push(() => stream.destroy());
        return stream;
      }) as [CudaStream, CudaStream];
      const memory = new DeviceMemory(api, errors, service.handle, pool, gpu.memoryBytes);
      this.undo.push(() => memory.freeAll());
      this.#epochs = new Epochs(parts, memory, { service, control }, host.words, host.completion === 'sync');
      const signal = host.completion === 'callback' ? this.#signals(start.signal) : undefined;
      const cells = new Cells((bytes) => pinned.alloc(bytes));
      const isDetailed = host.calls.on;
      const nvtx = isDetailed ? openNvtx() : undefined;
      if (nvtx) host.log(`ranges for profilers: ${nvtx.path}`);
      this.#shop = { ...parts, cells, memory, service, lines: this.lines, signal, isDetailed, nvtx };
      this.#clock = new Clock(api, errors, ends, service.handle);
      this.grids = new CudaGrids(this.#shop, this.#context.guard, (words) => this.#upload(words));
      this.undo.push(() => {
        for (const program of this.#programs) program.unload();
        this.#programs.clear();
      });
      this.undo.push(() => this.grids.closeAll());
    } catch (error) {
      this.releaseAll();
      throw error instanceof FatalError ? error.error : error;
    }
    this.info = describeGpu(gpu, { cuda: version });
  }

  alloc(bytes: number): Memory {
    return this.#shop.memory.alloc(bytes);
  }

  free(memory: Memory): void {
    this.#shop.memory.free(memory);
  }

  follow(line: CudaLine, handle: number): boolean {
    return line.follow(handle);
  }

  pointer({ address }: Memory): number {
    return address;
  }

  adopt(pointer: number, bytes: number): Memory {
    return { address: pointer, bytes };
  }

  lock(bytes: number): Pinned | undefined {
    return this.#shop.pinned.share(bytes);
  }

  unlock({ address }: Locked): void {
    this.#shop.pinned.release(address);
  }

  load(source: GpuSource): CudaProgram {
    const { api, errors, gpu } = this.#context;
    const { tables: words } = source.shape;
    const tables = words.length > 0 ? this.#upload(words) : undefined;
    try {
      const program = new CudaProgram(api, errors, gpu, source, tables);
      const { registers, localBytes, resident } = program;
      this.#host.log(
        `kernel ${source.name}: ${registers} registers, ${localBytes} bytes of local memory, ${resident} workgroups at a time`,
      );
      this.#programs.add(program);
      return program;
    } catch (error) {
      if (tables) this.#shop.memory.free(tables);
      throw error;
    }
  }

  unload(program: CudaProgram): void {
    this.#programs.delete(program);
    program.unload();
    if (program.tables) this.#shop.memory.free(program.tables);
  }

  occupancy({ occupancy }: CudaProgram): number {
    return occupancy;
  }

  openLine(number: number, epochWord: number): CudaLine {
    const line = new CudaLine(number, this.#shop, this.#epochs.open(number, epochWord));
    this.lines.add(line);
    this.#host.log(`stream ${number} is ${hex(line.stream.handle)}, its epoch at ${hex(line.epoch.device)}`);
    return line;
  }

  closeLine(line: CudaLine): void {
    this.lines.delete(line);
    line.destroy();
    this.#host.log(`stream ${line.number} (${hex(line.stream.handle)}) closed`);
  }

  handles(): number[] {
    return Array.from(this.lines, ({ stream }) => stream.handle);
  }

  poll(mark: CudaMark): MarkResult | undefined {
    const { api, errors } = this.#context;
    const code = api.cuEventQuery(mark.end);
    if (code === Cuda.notReady) return undefined;
    if (code !== Cuda.success) {
      const error = errors.of('cuEventQuery', code, `${workOf(mark.statuses)} on stream ${mark.line.number}`);
      if (error instanceof FatalError) throw error;
      return { kind: 'failed', error };
    }
    mark.line.stream.staging.settle();
    mark.passed = true;
    if (mark.range !== undefined) this.#shop.nvtx?.end(mark.range);
    const status = statusOf(mark.statuses);
    if (status.kind === 'trapped') return status;
    return { kind: 'passed', complete: status.complete, ...this.#times(mark) };
  }

  signalled({ signal }: CudaMark): boolean {
    return signal !== undefined && Atomics.load(signal.words, 0) !== 0;
  }

  release(mark: CudaMark): void {
    const { cells, starts, ends } = this.#shop;
    if (mark.signal) cells.giveSignal(mark.signal);
    if (!mark.passed) return; // the GPU may still write: the rest goes with the device
    if (mark.start !== mark.end) starts.give(mark.start);
    if (mark.launches) starts.give(mark.launches.start);
    if (mark.launches?.end) starts.give(mark.launches.end);
    if (!mark.kept) ends.give(mark.end);
    for (const status of mark.statuses.values()) cells.give(status);
  }

  cancel({ epoch: sent }: CudaLine, epoch: number): void {
    sent.moved(epoch);
  }

  block({ end }: CudaMark): void {
    // What went wrong is told by the poll that follows.
    this.#context.api.cuEventSynchronize(end);
  }

  sensors(): Sensors | undefined {
    if (this.#sensors === 'unknown') this.#sensors = sensorsOf(this.#context.gpu);
    return this.#sensors?.nvml.read(this.#sensors.device);
  }

  close(): boolean {
    if (this.undo.length === 0) return true;
    const isQuiet = this.#quiet();
    if (isQuiet) this.releaseAll();
    else this.#host.log(`launches did not end within ${CLOSE_MS} ms: their memory goes with the process`);
    if (this.#sensors !== 'unknown') this.#sensors?.nvml.close();
    return isQuiet;
  }

  /** How marks are signalled: by a native function on the driver's thread, or by a write of the GPU itself. */
  #signals(given: CudaStart['signal']): (stream: number, cell: Cell) => void {
    const { api, errors } = this.#context;
    this.#host.log(
      given ? `callbacks: ${given.library}` : 'callbacks: written by the GPU (no compiler for a function)',
    );
    if (given === undefined) {
      return (stream, { device }) => {
        // SAFETY: a word of a cell that is given back only when this write has been seen.
        const code = api.cuStreamWriteValue32(stream, device, 1, 0);
        errors.check('cuStreamWriteValue32', code, 'a callback');
      };
    }
    const entry = symbolIn(loadForever(given.library), given.symbol);
    return (stream, { address }) => {
      // SAFETY: the function is native and never unloaded; it stores a word of a cell that waits for it, as above.
      errors.check('cuLaunchHostFunc', api.cuLaunchHostFunc(stream, entry, address), 'a callback');
    };
  }

  #times(mark: CudaMark): { startedNs: bigint; endedNs: bigint; detail?: MarkDetail } {
    const { line, start, end, sentNs } = mark;
    const launches = this.#launchesOf(mark);
    const { startedNs, endedNs, kept } = this.#clock.times(start, end, { sentNs, doneNs: process.hrtime.bigint() });
    mark.kept = kept;
    // Times are rounded to what a float holds, and the base may have moved: the order of a stream's marks stays.
    // Nothing begins before it was sent.
    const earliest = sentNs > line.endedNs ? sentNs : line.endedNs;
    const from = startedNs > earliest ? startedNs : earliest;
    line.endedNs = endedNs > from ? endedNs : from;
    const times = { startedNs: from, endedNs: line.endedNs };
    if (!this.#shop.isDetailed) return times;
    const within = (ns: bigint): bigint => (ns < from ? from : ns > line.endedNs ? line.endedNs : ns);
    const detail: MarkDetail = {
      sentNs,
      launches: launches && {
        startedNs: within(startedNs + launches.afterNs),
        endedNs: within(startedNs + launches.untilNs),
      },
    };
    return { ...times, detail };
  }

  /** How long after the mark's beginning its first launch began and its last one ended. */
  #launchesOf({ start, launches }: CudaMark): { readonly afterNs: bigint; readonly untilNs: bigint } | undefined {
    if (!launches || launches.end === 0) return undefined;
    const afterNs = this.#clock.between(start, launches.start);
    return { afterNs, untilNs: afterNs + this.#clock.between(launches.start, launches.end) };
  }

  #upload(words: Uint32Array): Memory {
    const { memory, service } = this.#shop;
    const tables = memory.alloc(words.byteLength);
    const from = addressOf(words);
    while (!service.staging.write(tables.address, from, words.byteLength)) sleep(0.2);
    memory.made++; // as for zeroing: other streams wait for it
    return tables;
  }

  /** Stops what runs; false where something does not stop. */
  #quiet(): boolean {
    try {
      for (const { epoch } of this.lines) epoch.moved(Atomics.add(this.#host.words, epoch.word, 1) + 1);
    } catch {
      // The device is lost: then nothing runs, as the streams will tell.
    }
    this.grids.stop();
    const own = [...this.lines].map(({ stream }) => stream);
    const streams = [this.#shop.service, this.#epochs.control, ...this.grids.streams, ...own];
    for (let waited = 0; !streams.every((stream) => stream.isIdle()); waited++) {
      if (waited >= CLOSE_MS) return false;
      sleep(1);
    }
    return true; // also where the device is lost: then nothing runs
  }
}

interface CardSensors {
  readonly nvml: Nvml;
  readonly device: number;
}

/** When first asked: many never are. */
function sensorsOf({ busId }: Gpu): CardSensors | undefined {
  const nvml = Nvml.open();
  const device = nvml?.device(busId);
  if (nvml && device !== undefined) return { nvml, device };
  nvml?.close();
  return undefined;
}

const nobody = new Int32Array(new SharedArrayBuffer(4));
const sleep = (milliseconds: number): void => void Atomics.wait(nobody, 0, 0, milliseconds);
