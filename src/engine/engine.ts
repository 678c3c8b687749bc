import type { CompileOptions, Device, DeviceInfo, DeviceProgram } from '../device/device.js';
import { MillraceError } from '../kernel/error.js';
import type { Kernel } from '../kernel/index.js';
import { MachineLoad } from './feed/machine-load.js';
import { type LaunchSize, Pipeline } from './feed/pipeline.js';
import { SLOTS_PER_STREAM, STREAMS } from './feed/slots.js';
import { type OnPrint, printToConsole } from './flow/prints.js';
import { leaseProgram } from './flow/programs.js';
import type { Job } from './job.js';
import { Run } from './run/run.js';
import { type ChunkRecord, Recorder } from './telemetry/record.js';
import type { WorkCoverage } from './work/bins.js';

export interface EngineOptions {
  /** Streams per device. Chunk k goes to stream k mod streams. Default 2. */
  readonly streams?: number;
  /** Chunks in flight per stream. Default 3. */
  readonly slots?: number;
  /** Streams and slots per device, used if neither `streams` nor `slots` is given. */
  readonly perDevice?: ReadonlyMap<Device, Pick<EngineOptions, 'streams' | 'slots'>>;
  /**
   * `sync`: one chunk at a time; the next starts after the last was checked. `persistent`: a resident grid if device
   * and job support one; otherwise the same as `poll`, with a call of `onWarning`. `poll` and `callback` are how a
   * device detects completion; they are set when the device is opened and make no difference to the engine. All give
   * the same answers.
   */
  readonly pipeline?: 'sync' | 'poll' | 'callback' | 'persistent';
  /** Number of chunk records to keep for telemetry, or the recorder that keeps them. Default 0: none. */
  readonly records?: number | Recorder;
  /**
   * Scales the times after which a silent device counts as stalled. By default a device is stalled after 8 times the
   * expected time of the work queued on it, at least 2 s. Time in which the process was stopped, or other programs used
   * the machine's processors, does not count.
   */
  readonly patience?: number;
  /**
   * Called with what the user should know while a job runs: a feature that a device lacks, a first chunk that does not
   * end, batches that are not released. Default: a warning of the process, or of the page's console.
   */
  readonly onWarning?: (message: string) => void;
  /** Receives what kernels print with `print()`. Default: the console. */
  readonly onPrint?: OnPrint;
}

/** The kernel to compile on each device. Without `compile` the device chooses the options. */
export interface KernelPerDevice {
  readonly name: string;
  on(device: Device): Promise<{ readonly kernel: Kernel; readonly compile?: CompileOptions }>;
}

export interface DeviceStatus {
  readonly info: DeviceInfo;
  /** Share of the time the device had work, 0 to 1, not counting pauses. */
  readonly fed: number | undefined;
  readonly isPaused: boolean;
  /** Average time of a chunk on the device. */
  readonly chunkMs: number | undefined;
  /** Settings of the job that joined last. */
  readonly launchSize: LaunchSize | undefined;
  /** Chunks on the device now, and the streams that have at least one. */
  readonly queueDepth: number;
  readonly activeStreams: number;
  /** Share of the device's threads that the job which joined last can keep resident, 0 to 1. Undefined if unknown. */
  readonly occupancy: number | undefined;
  readonly chunks: number;
  readonly items: bigint;
  readonly canaries: number;
  readonly wrong: number;
  readonly missed: number;
  readonly failed: number;
  readonly stalled: number;
  readonly cancelled: number;
  /** Why the device is no longer used. */
  readonly fault: MillraceError | undefined;
}

/**
 * Keeps devices supplied with chunks. All devices may work on one job, and jobs take turns on each device. The devices
 * belong to the caller that opened them; `close` frees only the engine's streams and buffers.
 */
export class Engine {
  readonly streams: number;
  readonly slots: number;
  readonly #pipelines: readonly Pipeline[];
  readonly #recorder: Recorder;
  readonly #warn: (message: string) => void;
  readonly #runs = new Set<Run>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #ids = 0;
  #isClosed = false;

  constructor(devices: readonly Device[], options: EngineOptions = {}) {
    const { pipeline = 'poll', patience = 1 } = options;
    const isSync = pipeline === 'sync';
    this.streams = isSync ? 1 : (options.streams ?? STREAMS);
    this.slots = isSync ? 1 : (options.slots ?? SLOTS_PER_STREAM);
    for (const [name, value] of Object.entries({ streams: this.streams, slots: this.slots })) checkCount(name, value);
    const { records } = options;
    this.#recorder = records instanceof Recorder ? records : new Recorder(records);
    this.#warn = options.onWarning ?? printWarning;
    const shared = {
      streams: this.streams,
      slotsPerStream: this.slots,
      isSync,
      isPersistent: pipeline === 'persistent',
      patience,
      recorder: this.#recorder,
      onWarning: this.#warn,
      onPrint: options.onPrint ?? printToConsole,
      onLost: (lost: Pipeline, error: MillraceError) => {
        for (const run of this.#runs) run.lost(lost, error);
      },
    };
    this.#pipelines = devices.map((device) => {
      const own =
        isSync || options.streams !== undefined || options.slots !== undefined ? undefined : options.perDevice;
      const { streams = this.streams, slots: slotsPerStream = this.slots } = own?.get(device) ?? {};
      return new Pipeline(device, { ...shared, streams, slotsPerStream });
    });
  }

  /** Returns the work each device has done and whether the device is still used. */
  get devices(): DeviceStatus[] {
    return this.#pipelines.map((pipeline) => ({
      info: pipeline.device.info,
      fed: pipeline.utilization.share(),
      isPaused: pipeline.utilization.isPaused,
      chunkMs: pipeline.utilization.chunkMs,
      launchSize: pipeline.launchSize,
      queueDepth: pipeline.inFlight.chunks,
      activeStreams: pipeline.inFlight.streams,
      occupancy: pipeline.occupancy,
      ...pipeline.health.counts,
      fault: pipeline.health.fault,
    }));
  }

  /** Where the indices of the running job are. Undefined if there is none, or several. */
  get coverage(): WorkCoverage | undefined {
    const [run, ...others] = this.#runs;
    return others.length === 0 ? run?.coverage : undefined;
  }

  /** The latest chunk records, oldest first. */
  get records(): Iterable<Readonly<ChunkRecord>> {
    return this.#recorder;
  }

  /**
   * Compiles a kernel on all devices ahead of time, so that the first job does not include the compile time. A
   * `KernelPerDevice` chooses the kernel per device.
   */
  async prepare(
    kernel: Kernel | KernelPerDevice,
    onReady?: (device: DeviceInfo, program: DeviceProgram) => void,
  ): Promise<void> {
    const used = this.#pipelines.filter(({ health }) => health.fault === undefined);
    await Promise.all(
      used.map(async ({ device }) => {
        const own = 'on' in kernel ? await kernel.on(device) : { kernel };
        const { program, release } = await leaseProgram(device, own.kernel, own.compile);
        try {
          onReady?.(device.info, program);
        } finally {
          release();
        }
      }),
    );
  }

  /** True if all devices are paused. */
  get isPaused(): boolean {
    return this.#pipelines.every(({ utilization }) => utilization.isPaused);
  }

  /**
   * Stops starting chunks, on one device or on all, until `resume`. Chunks in flight end and count. Work that a paused
   * device has not started goes to the others. Calls are not counted: one `resume` ends any number of pauses.
   */
  pause(device?: string): void {
    for (const pipeline of this.#pipelinesFor(device)) pipeline.pause();
    // The other devices now have more to do.
    for (const run of this.#runs) run.wake();
  }

  resume(device?: string): void {
    for (const pipeline of this.#pipelinesFor(device)) pipeline.resume();
    for (const run of this.#runs) run.wake();
  }

  /** Starts a job on all devices. */
  run<Result>(job: Job<Result>): Run {
    if (this.#isClosed) {
      throw new MillraceError({
        code: 'device-closed',
        message: 'the engine has been closed',
        asked: `job ${job.name}`,
        advice: 'make another engine',
      });
    }
    const run = new Run(`${job.name} ${this.#ids++}`, job as Job<unknown>, this.#warn);
    this.#runs.add(run);
    void run.drained.then(() => {
      this.#runs.delete(run);
      if (this.#runs.size === 0) this.#stopClock();
    });
    this.#startClock();
    run.start(this.#pipelines);
    return run;
  }

  /** Stops all jobs and frees the streams and buffers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const runs = [...this.#runs];
    for (const run of runs) run.stop();
    await Promise.all(runs.map((run) => run.drained));
    await Promise.all(this.#pipelines.map((pipeline) => pipeline.close()));
  }

  #pipelinesFor(device: string | undefined): readonly Pipeline[] {
    return this.#pipelines.filter((pipeline) => device === undefined || pipeline.device.info.id === device);
  }

  /** Starts the timer. It also keeps the process alive while jobs run, which a hung device would not. */
  #startClock(): void {
    if (this.#timer !== undefined) return;
    const machine = new MachineLoad();
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      // A tick is late if the process was stopped, the machine slept, or this thread was too busy to handle
      // completions. Only two ticks' worth counts as silence. Time in which other programs used the processors does not
      // count either.
      const ms = Math.min(now - last, 2 * TICK_MS) * machine.availableShare(now);
      last = now;
      for (const pipeline of this.#pipelines) pipeline.tick(ms);
      for (const run of this.#runs) run.wake();
    }, TICK_MS);
  }

  #stopClock(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const TICK_MS = 50;

function printWarning(message: string): void {
  const { process: node } = globalThis as { process?: { emitWarning?(message: string, type: string): void } };
  if (node?.emitWarning) node.emitWarning(message, 'MillraceWarning');
  else console.warn(message);
}

function checkCount(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= 32) return;
  throw new MillraceError({
    code: 'usage',
    message: `${name} cannot be ${value}`,
    asked: `${name} ${value}`,
    advice: 'give a whole number from 1 to 32',
  });
}
