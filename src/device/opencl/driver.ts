import type { DeviceInfo } from '../device.js';
import { Crew, newCrew } from '../gpu/crew.js';
import {
  type Driver,
  type DriverHost,
  FatalError,
  type GpuSource,
  type MarkDetail,
  type MarkResult,
} from '../gpu/driver.js';
import { LineDriver, tolerate } from '../gpu/line-driver.js';
import type { Locked } from '../gpu/locked-memory.js';
import { statusOf, workOf } from '../gpu/status.js';
import { addressOf } from '../native/libc.js';
import { stay } from '../pool/stay.js';
import { Cells } from './cells.js';
import { Clock } from './clock.js';
import { type Context, hex, openContext } from './context.js';
import { Epochs } from './epoch.js';
import { Events } from './events.js';
import { describeDevice } from './info.js';
import { OpenClLine, type OpenClMark, type Shop } from './line.js';
import { DeviceMemory, type Memory } from './memory.js';
import { PinnedMemory } from './pinned.js';
import { OpenClProgram } from './program.js';
import { CommandQueue } from './queue.js';

/** What the main thread tells the worker. */
export interface OpenClStart {
  readonly number: number;
  /** Copy to and from a device that shares the host's memory too: so that tests see what GPUs execute. */
  readonly apart?: boolean;
}

/** How long a process that ends waits for launches and transfers in flight; a kernel may never look whether to stop. */
const CLOSE_MS = 5000;

/** OpenCL for the loop in `gpu/loop.ts`. */
export class OpenClDriver
  extends LineDriver<Memory, OpenClProgram, OpenClLine, OpenClMark>
  implements Driver<Memory, OpenClProgram, OpenClLine, OpenClMark>
{
  readonly info: DeviceInfo;
  readonly #host: DriverHost;
  readonly #context: Context;
  readonly #shop: Shop;
  readonly #epochs: Epochs;
  readonly #programs = new Set<OpenClProgram>();
  readonly #clock = new Clock();
  /** The driver's own, beside those of the lines. */
  readonly #queues: CommandQueue[] = [];
  /** Of these the one that zeroes memory and sends tables. */
  readonly #service: CommandQueue | undefined;
  /** Only in `sync` mode: while this thread waits in the driver, no slice and no epoch can be sent. */
  readonly block?: (mark: OpenClMark) => void;

  constructor({ number, apart }: OpenClStart, host: DriverHost) {
    super();
    this.#host = host;
    // The platform's own threads read and write arrays of this process until everything has been let go of.
    this.undo.push(stay(CLOSE_MS));
    try {
      const context = openContext(number, (api) => host.calls.wrap(api), apart);
      this.#context = context;
      this.undo.push(() => context.close());
      const events = new Events(context);
      // Memory is zeroed and tables are sent on one queue. The other is for what must not wait for anything.
      const [service, control] = [this.#queue(), this.#queue()];
      this.#service = service;
      const pinned = new PinnedMemory(context, control);
      this.undo.push(() => pinned.releaseAll());
      const memory = new DeviceMemory(context, events, service);
      this.undo.push(() => memory.freeAll());
      const cells = new Cells(context, pinned);
      this.undo.push(() => cells.destroy());
      this.#epochs = new Epochs(context, events, pinned, control, host.words);
      const crew = new Crew(host.crew ?? newCrew());
      this.#shop = { context, events, pinned, crew, memory, cells, lines: this.lines, isDetailed: host.calls.on };
      this.#setClock(memory, control);
      this.undo.push(() => {
        for (const program of this.#programs) program.release();
        this.#programs.clear();
      });
    } catch (error) {
      this.releaseAll();
      throw error instanceof FatalError ? error.error : error;
    }
    if (host.completion === 'sync') this.block = ({ event }) => this.#shop.events.block(event);
    const { device, handle } = this.#context;
    this.info = describeDevice(device);
    host.log(`context ${hex(handle)} of opencl:${number}, ${device.name}, ${device.platform.version}`);
  }

  alloc(bytes: number): Memory {
    return this.#shop.memory.alloc(bytes);
  }

  free(memory: Memory): void {
    this.#shop.memory.free(memory);
  }

  /** A CPU's transfers reach all memory of the process: there is nothing to gain. */
  lock(bytes: number): Locked | undefined {
    return this.#context.shares ? undefined : this.#shop.pinned.lend(bytes);
  }

  unlock({ address }: Locked): void {
    this.#shop.pinned.release(address);
  }

  load(source: GpuSource): OpenClProgram {
    const { memory } = this.#shop;
    const { tables: words } = source.shape;
    const tables = words.length > 0 ? memory.alloc(words.byteLength) : undefined;
    const began = performance.now();
    try {
      const program = new OpenClProgram(this.#context, source, tables);
      // The words belong to the program's shape, which lives as long as the program.
      if (tables) memory.fill(tables, addressOf(words), words.byteLength);
      const from = `from ${program.fromBinary ? 'its binary' : 'text'} in ${(performance.now() - began).toFixed(0)} ms`;
      this.#host.log(`kernel ${source.name}: ${from}, ${program.most} workgroups of ${source.shape.workgroup}`);
      this.#programs.add(program);
      return program;
    } catch (error) {
      if (tables) memory.free(tables);
      throw error;
    }
  }

  unload(program: OpenClProgram): void {
    this.#programs.delete(program);
    program.release();
    if (program.tables === undefined) return;
    this.#service?.finish(); // where it was never launched, its tables may still be on their way
    this.#shop.memory.free(program.tables);
  }

  openLine(number: number, epochWord: number): OpenClLine {
    const line = new OpenClLine(number, this.#shop, (queue) => this.#epochs.open(number, epochWord, queue));
    this.lines.add(line);
    this.#host.log(`stream ${number} is ${hex(line.queue.handle)}`);
    return line;
  }

  closeLine(line: OpenClLine): void {
    this.lines.delete(line);
    line.destroy();
    this.#host.log(`stream ${line.number} (${hex(line.queue.handle)}) closed`);
  }

  handles(): number[] {
    return Array.from(this.lines, ({ queue }) => queue.handle);
  }

  poll(mark: OpenClMark): MarkResult | undefined {
    const { events } = this.#shop;
    let code = events.status(mark.event);
    if (code > 0) return undefined;
    // A marker may pass behind a command that failed.
    if (code === 0 && mark.last !== undefined) code = events.status(mark.last);
    if (code < 0) {
      const error = this.#context.errors.execution(code, `${workOf(mark.statuses)} on stream ${mark.line.number}`);
      if (error instanceof FatalError) throw error;
      return { kind: 'failed', error };
    }
    mark.line.stage.settle();
    mark.passed = true;
    mark.held = [];
    const times = this.#times(mark);
    const status = statusOf(mark.statuses);
    if (status.kind === 'trapped') return status;
    return { kind: 'passed', complete: status.complete && !mark.cut, ...times };
  }

  release(mark: OpenClMark): void {
    const { events, cells } = this.#shop;
    if (!mark.passed) return; // the device may still write: the rest goes with it
    const { event: own, first, last, launches } = mark;
    const held = [own, first, last, launches?.first, launches?.last];
    for (const event of held) if (event !== undefined) events.release(event);
    for (const status of mark.statuses.values()) cells.give(status);
  }

  cancel(line: OpenClLine, epoch: number): void {
    line.epoch.moved(epoch);
  }

  close(): void {
    if (this.undo.length === 0) return;
    for (const { epoch } of this.lines) tolerate(() => epoch.moved(epoch.now() + 1));
    for (const { queue } of this.lines) queue.finish();
    for (const queue of this.#queues) queue.finish();
    this.releaseAll();
    this.#host.log(`context ${hex(this.#context.handle)} released`);
  }

  #queue(): CommandQueue {
    const queue = new CommandQueue(this.#context);
    this.#queues.push(queue);
    this.undo.push(() => queue.destroy());
    return queue;
  }

  /** Some commands that do nothing, until one comes back quickly: the first bring things up that take milliseconds. */
  #setClock(memory: DeviceMemory, control: CommandQueue): void {
    const { events } = this.#shop;
    const own = memory.alloc(16);
    if (memory.last !== undefined) control.wait(memory.last);
    for (let i = 0; i < 8; i++) {
      const sentNs = process.hrtime.bigint();
      const event = control.fill(own.handle, 0, 0, 16);
      events.block(event);
      const doneNs = process.hrtime.bigint();
      const [from, to] = [events.startedNs(event), events.endedNs(event)];
      if (from !== undefined && to !== undefined) this.#clock.times(from, to, { sentNs, doneNs });
      events.release(event);
    }
    memory.free(own);
  }

  #times(mark: OpenClMark): { startedNs: bigint; endedNs: bigint; detail?: MarkDetail } {
    const { events } = this.#shop;
    const { line, sentNs, first, last, event } = mark;
    const doneNs = process.hrtime.bigint();
    // Some platforms tell no times of markers.
    const from = events.startedNs(first ?? event);
    const to = events.endedNs(last ?? event);
    const times =
      from === undefined || to === undefined
        ? { startedNs: sentNs, endedNs: doneNs }
        : this.#clock.times(from, to, { sentNs, doneNs });
    // The clocks may have been set since: the order of marks stays, of one stream and of those that wait for each other.
    const before = mark.after.reduce((latest, { endedNs }) => later(latest, endedNs), line.endedNs);
    mark.after = [];
    const startedNs = later(times.startedNs, line.endedNs);
    line.endedNs = later(later(times.endedNs, startedNs), before);
    mark.endedNs = line.endedNs;
    const told = { startedNs, endedNs: line.endedNs };
    if (!this.#shop.isDetailed) return told;
    const shift = from === undefined ? 0n : times.startedNs - from;
    return { ...told, detail: { sentNs, launches: this.#launchesOf(mark, shift, told) } };
  }

  /** On the host's clock, which `shift` leads to, and within the mark's own times. */
  #launchesOf({ launches }: OpenClMark, shift: bigint, within: Span): Span | undefined {
    const { events } = this.#shop;
    const from = launches && events.startedNs(launches.first);
    const to = launches && events.endedNs(launches.last);
    if (from === undefined || to === undefined) return undefined;
    const inside = (ns: bigint): bigint =>
      ns < within.startedNs ? within.startedNs : ns > within.endedNs ? within.endedNs : ns;
    return { startedNs: inside(from + shift), endedNs: inside(to + shift) };
  }
}

interface Span {
  readonly startedNs: bigint;
  readonly endedNs: bigint;
}

const later = (a: bigint, b: bigint): bigint => (a > b ? a : b);
