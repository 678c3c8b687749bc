import type { MillraceError } from '../../kernel/error.js';
import type { DeviceInfo } from '../device.js';
import { newCopyMemory, ParallelCopier } from '../gpu/host/parallel-copier.js';
import {
  CLOSE_MS,
  endsInTime,
  hex,
  ignoreDeviceErrors,
  laterOf,
  type MarkTimes,
  NativeDriver,
} from '../gpu/native/driver.js';
import { HostClock } from '../gpu/native/host-clock.js';
import type { LockedRegion } from '../gpu/native/locked-memory.js';
import { StatusSlots } from '../gpu/native/status-slots.js';
import { type Driver, type DriverHost, FatalError, type GpuSource } from '../gpu/worker/driver.js';
import { addressOf } from '../native/libc.js';
import { holdExit } from '../pool/threads/hold-exit.js';
import { Epochs } from './epoch.js';
import { Events } from './events.js';
import { type DeviceResources, OpenClLine, type OpenClMark } from './line.js';
import { DeviceMemory, type Memory } from './memory.js';
import { PinnedMemory } from './pinned.js';
import { OpenClProgram } from './program.js';
import { CommandQueue, type Event } from './queue.js';
import { type Context, openContext } from './runtime/context.js';
import { describeDevice } from './runtime/info.js';
import { StatusMemory } from './status.js';

/** The worker's start data. */
export interface OpenClStart {
  readonly number: number;
  /** Copies to and from a device that shares the host's memory as well, to test what GPUs execute. */
  readonly forceCopies?: boolean;
}

/** The OpenCL driver for the loop in `gpu/worker/loop.ts`. */
export class OpenClDriver
  extends NativeDriver<Memory, OpenClProgram, OpenClLine, OpenClMark>
  implements Driver<Memory, OpenClProgram, OpenClLine, OpenClMark>
{
  readonly info: DeviceInfo;
  protected readonly resources: DeviceResources;
  readonly #context: Context;
  readonly #epochs: Epochs;
  readonly #clock = new HostClock();
  /** The driver's own queues, besides those of the lines. */
  readonly #queues: CommandQueue[] = [];
  /** The queue that zeroes memory and sends tables. */
  readonly #service: CommandQueue | undefined;
  /** Only in `sync` mode: while this thread blocks in the driver, no slice and no epoch can be sent. */
  readonly block?: (mark: OpenClMark) => void;

  constructor({ number, forceCopies }: OpenClStart, host: DriverHost) {
    super(host);
    // The platform's threads access arrays of this process until everything has been released. An exiting process waits for
    // that, but a kernel may never check whether to stop.
    this.cleanups.push(holdExit(CLOSE_MS));
    try {
      const context = openContext(number, (api) => host.calls.wrap(api), forceCopies);
      this.#context = context;
      this.cleanups.push(() => context.close());
      const events = new Events(context);
      // One queue zeroes memory and sends tables. The other is for commands that must not wait for anything.
      const [service, control] = [this.#queue(), this.#queue()];
      this.#service = service;
      const pinned = new PinnedMemory(context, control);
      this.cleanups.push(() => pinned.releaseAll());
      const memory = new DeviceMemory(context, events, service);
      this.cleanups.push(() => memory.freeAll());
      const status = new StatusMemory(context, pinned);
      this.cleanups.push(() => status.destroy());
      this.#epochs = new Epochs(context, events, pinned, control, host.words);
      const copier = new ParallelCopier(host.copyMemory ?? newCopyMemory());
      const [slots, isDetailed] = [new StatusSlots(() => status.page()), host.calls.on];
      this.resources = { context, events, pinned, copier, memory, slots, lines: this.lines, isDetailed };
      this.#setClock(memory, control);
      this.cleanups.push(() => this.unloadAll());
    } catch (error) {
      this.releaseAll();
      throw error instanceof FatalError ? error.error : error;
    }
    if (host.completion === 'sync') this.block = ({ event }) => this.resources.events.block(event);
    const { device, handle } = this.#context;
    this.info = describeDevice(device);
    host.log(`context ${hex(handle)} of opencl:${number}, ${device.name}, ${device.platform.version}`);
  }

  /** Undefined on a CPU: its transfers access all memory of the process, so locking gains nothing. */
  lock(bytes: number): LockedRegion | undefined {
    return this.#context.sharesHostMemory ? undefined : this.resources.pinned.lend(bytes);
  }

  release(mark: OpenClMark): void {
    const { events, slots } = this.resources;
    mark.waitedFor = []; // otherwise each mark would keep all earlier ones alive
    if (!mark.isPassed) return; // the device may still write: the rest is freed with it
    const { event: own, first, last, launches } = mark;
    const held = [own, first, last, launches?.first, launches?.last];
    for (const event of held) if (event !== undefined) events.release(event);
    for (const status of mark.statuses.values()) slots.release(status);
  }

  close(): boolean {
    if (this.cleanups.length === 0) return true;
    for (const { epoch } of this.lines) ignoreDeviceErrors(() => epoch.stop());
    const isQuiet = this.#context.sharesHostMemory ? this.#finishAll() : this.#endsInTime();
    if (isQuiet) this.releaseAll();
    this.host.log(
      isQuiet
        ? `context ${hex(this.#context.handle)} released`
        : `launches did not end within ${CLOSE_MS} ms: their memory is freed with the process`,
    );
    return isQuiet;
  }

  get #allQueues(): CommandQueue[] {
    return [...[...this.lines].map(({ queue }) => queue), ...this.#queues];
  }

  /** Waits for ever if a kernel does not end: on a CPU it accesses this thread's memory until then. */
  #finishAll(): true {
    for (const queue of this.#allQueues) queue.finish();
    return true;
  }

  /** False if something does not stop. True also if the device is lost: then nothing runs. */
  #endsInTime(): boolean {
    const { events } = this.resources;
    const running = new Set<Event>();
    ignoreDeviceErrors(() => {
      for (const queue of this.#allQueues) {
        running.add(queue.marker());
        queue.flush();
      }
    });
    return endsInTime(() => {
      for (const event of running) {
        let code = 0;
        ignoreDeviceErrors(() => {
          code = events.status(event);
        });
        if (code > 0) continue;
        events.release(event);
        running.delete(event);
      }
      return running.size === 0;
    });
  }

  protected tables(words: Uint32Array): Memory {
    return this.resources.memory.alloc(words.byteLength);
  }

  protected program(source: GpuSource, tables: Memory | undefined): OpenClProgram {
    const { tables: words, workgroup } = source.shape;
    const began = performance.now();
    const program = new OpenClProgram(this.#context, source, tables);
    // The words belong to the program's shape, which lives as long as the program.
    if (tables) this.resources.memory.fill(tables, addressOf(words), words.byteLength);
    const from = `from ${program.fromBinary ? 'its binary' : 'text'} in ${(performance.now() - began).toFixed(0)} ms`;
    this.host.log(`kernel ${source.name}: ${from}, ${program.maxGroups} workgroups of ${workgroup}`);
    return program;
  }

  /** The tables of a program that was never launched may still be in transfer. */
  protected override finishTableWrites(): void {
    this.#service?.finish();
  }

  protected line(number: number, epochWord: number): OpenClLine {
    return new OpenClLine(number, this.resources, (queue) => this.#epochs.open(number, epochWord, queue));
  }

  protected codeOf({ event, last }: OpenClMark): number | undefined {
    const { events } = this.resources;
    const code = events.status(event);
    if (code > 0) return undefined;
    // A marker may complete without an error after a command that failed.
    return code === 0 && last !== undefined ? Math.min(0, events.status(last)) : code;
  }

  protected errorOf(code: number, work: string): MillraceError | FatalError {
    return this.#context.errors.executionError(code, work);
  }

  protected markPassed(mark: OpenClMark): void {
    mark.heldData = [];
  }

  #queue(): CommandQueue {
    const queue = new CommandQueue(this.#context);
    this.#queues.push(queue);
    this.cleanups.push(() => queue.destroy());
    return queue;
  }

  /** Runs some commands that do nothing, until one returns quickly: the first ones initialize things for milliseconds. */
  #setClock(memory: DeviceMemory, control: CommandQueue): void {
    const { events } = this.resources;
    const own = memory.alloc(16);
    if (memory.lastEvent !== undefined) control.wait(memory.lastEvent);
    for (let i = 0; i < 8; i++) {
      const sentNs = process.hrtime.bigint();
      const event = control.fill(own.device, 0, 0, 16);
      events.block(event);
      const doneNs = process.hrtime.bigint();
      const [from, to] = [events.startedNs(event), events.endedNs(event)];
      if (from !== undefined && to !== undefined) this.#clock.times(from, to, { sentNs, doneNs });
      events.release(event);
    }
    memory.free(own);
  }

  protected timesOf(mark: OpenClMark): MarkTimes {
    const { events } = this.resources;
    const { sentNs, first, last, event } = mark;
    const doneNs = process.hrtime.bigint();
    // Some platforms report no times for markers.
    const from = events.startedNs(first ?? event);
    const to = events.endedNs(last ?? event);
    const known = from !== undefined && to !== undefined;
    const { startedNs, endedNs } = known
      ? this.#clock.times(from, to, { sentNs, doneNs })
      : { startedNs: sentNs, endedNs: doneNs };
    // The clock may have been corrected since: marks that wait for each other keep their order.
    const ended = mark.waitedFor.reduce((latest, before) => laterOf(latest, before.endedNs), endedNs);
    const launches = this.#launchesOf(mark, from === undefined ? 0n : startedNs - from);
    return { startedNs, endedNs: ended, launches };
  }

  /** Converts to the host's clock by adding `shift`. */
  #launchesOf({ launches }: OpenClMark, shift: bigint): MarkTimes['launches'] {
    const { events } = this.resources;
    const from = launches && events.startedNs(launches.first);
    const to = launches && events.endedNs(launches.last);
    if (from === undefined || to === undefined) return undefined;
    return { startedNs: from + shift, endedNs: to + shift };
  }
}
