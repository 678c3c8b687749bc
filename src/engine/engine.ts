import type { CompileOptions, Device, DeviceInfo, DeviceProgram } from '../device/device.js';
import { MillraceError } from '../kernel/error.js';
import type { Kernel } from '../kernel/index.js';
import { Machine } from './feed/machine-load.js';
import { Pipeline, type Tuning } from './feed/pipeline.js';
import { SLOTS_PER_STREAM, STREAMS } from './feed/slots.js';
import { leaseProgram } from './flow/programs.js';
import type { Job } from './job.js';
import { Run } from './run/run.js';
import { type ChunkRecord, Recorder } from './telemetry/record.js';

export interface EngineOptions {
  /** Streams of each device; chunk k goes to stream k mod streams. Default 2. */
  readonly streams?: number;
  /** Chunks in flight on each stream. Default 3. */
  readonly slots?: number;
  /** What suits a device, where neither is given. */
  readonly feeding?: ReadonlyMap<Device, Pick<EngineOptions, 'streams' | 'slots'>>;
  /**
   * `sync`: one chunk at a time, the next after the last was checked. `persistent`: a resident grid where device and job
   * can have one; elsewhere it is `poll`, and `onWarning` is told. `poll` and `callback` say how a device learns that work is done, and are given to it when it is
   * opened; to the engine they are the same. All give the same answers.
   */
  readonly pipeline?: 'sync' | 'poll' | 'callback' | 'persistent';
  /** How many chunks are remembered for telemetry, or by whom. Default 0: none. */
  readonly records?: number | Recorder;
  /**
   * Scales the times after which a silent device counts as stalled. By default a stall is 8 times as long as what is queued
   * on the device should take, at least 2 s; time in which the process was stopped, or other programs had the machine's
   * processors, does not count.
   */
  readonly patience?: number;
  /** Told, once for each device, when what was asked for is not available there. */
  readonly onWarning?: (message: string) => void;
}

/** What is compiled on each device, and how, where that is not left to it. */
export interface Preparation {
  readonly name: string;
  on(device: Device): Promise<{ readonly kernel: Kernel; readonly compile?: CompileOptions }>;
}

export interface DeviceStatus {
  readonly info: DeviceInfo;
  /** The share of the time that it had work, 0 to 1; pauses do not count. */
  readonly fed: number | undefined;
  readonly isPaused: boolean;
  /** How long a chunk takes on it, on average. */
  readonly chunkMs: number | undefined;
  /** How the job that joined last runs on it. */
  readonly tuning: Tuning | undefined;
  /** Chunks on it just now, and streams that have some. */
  readonly queueDepth: number;
  readonly activeStreams: number;
  /** The share of its threads that the job which joined last can keep on it, 0 to 1, where that is known. */
  readonly occupancy: number | undefined;
  readonly chunks: number;
  readonly items: bigint;
  readonly canaries: number;
  readonly wrong: number;
  readonly missed: number;
  readonly failed: number;
  readonly stalled: number;
  readonly cancelled: number;
  /** Why it is not used any longer. */
  readonly fault: MillraceError | undefined;
}

/**
 * Keeps devices fed with the chunks of jobs: all devices may work on one job, and each takes turns between several. The
 * devices belong to whoever opened them; `close` gives back the streams and buffers.
 */
export class Engine {
  readonly streams: number;
  readonly slots: number;
  readonly #pipelines: readonly Pipeline[];
  readonly #recorder: Recorder;
  readonly #runs = new Set<Run>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #ids = 0;
  #closed = false;

  constructor(devices: readonly Device[], options: EngineOptions = {}) {
    const { pipeline = 'poll', patience = 1 } = options;
    const isSync = pipeline === 'sync';
    this.streams = isSync ? 1 : (options.streams ?? STREAMS);
    this.slots = isSync ? 1 : (options.slots ?? SLOTS_PER_STREAM);
    for (const [what, value] of Object.entries({ streams: this.streams, slots: this.slots })) check(what, value);
    const { records } = options;
    this.#recorder = records instanceof Recorder ? records : new Recorder(records);
    const shared = {
      streams: this.streams,
      slotsPerStream: this.slots,
      isSync,
      isPersistent: pipeline === 'persistent',
      patience,
      recorder: this.#recorder,
      onWarning: options.onWarning,
      lost: (lost: Pipeline, error: MillraceError) => {
        for (const run of this.#runs) run.lost(lost, error);
      },
    };
    this.#pipelines = devices.map((device) => {
      const own = isSync || options.streams !== undefined || options.slots !== undefined ? undefined : options.feeding;
      const { streams = this.streams, slots: slotsPerStream = this.slots } = own?.get(device) ?? {};
      return new Pipeline(device, { ...shared, streams, slotsPerStream });
    });
  }

  /** What each device has done, and whether it is still used. */
  get devices(): DeviceStatus[] {
    return this.#pipelines.map((pipeline) => ({
      info: pipeline.device.info,
      fed: pipeline.fed.share(),
      isPaused: pipeline.fed.isPaused,
      chunkMs: pipeline.fed.chunkMs,
      tuning: pipeline.tuning,
      queueDepth: pipeline.inFlight.chunks,
      activeStreams: pipeline.inFlight.streams,
      occupancy: pipeline.occupancy,
      ...pipeline.conduct.counts,
      fault: pipeline.conduct.fault,
    }));
  }

  /** The last chunks, oldest first. */
  get records(): Iterable<Readonly<ChunkRecord>> {
    return this.#recorder;
  }

  /**
   * Compiles a kernel on all devices, so that the first job with it is not charged for that; or what is to be compiled
   * on each.
   */
  async prepare(
    kernel: Kernel | Preparation,
    onReady?: (device: DeviceInfo, program: DeviceProgram) => void,
  ): Promise<void> {
    const used = this.#pipelines.filter(({ conduct }) => conduct.fault === undefined);
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

  /** Whether all devices are paused. */
  get isPaused(): boolean {
    return this.#pipelines.every(({ fed }) => fed.isPaused);
  }

  /**
   * Starts no more chunks, on one device or on all, until `resume`: those in flight end and count. What a paused device
   * has not begun is for the others. Calls are not counted: one `resume` ends any number of pauses.
   */
  pause(device?: string): void {
    for (const pipeline of this.#named(device)) pipeline.pause();
    // What is left for the others is now more than it was.
    for (const run of this.#runs) run.wake();
  }

  resume(device?: string): void {
    for (const pipeline of this.#named(device)) pipeline.resume();
    for (const run of this.#runs) run.wake();
  }

  /** Starts a job on all devices. */
  run<Result>(job: Job<Result>): Run {
    if (this.#closed) {
      throw new MillraceError({
        code: 'device-closed',
        message: 'the engine has been closed',
        asked: `job ${job.name}`,
        advice: 'make another',
      });
    }
    const run = new Run(`${job.name} ${this.#ids++}`, job as Job<unknown>);
    this.#runs.add(run);
    void run.over.then(() => {
      this.#runs.delete(run);
      if (this.#runs.size === 0) this.#stopClock();
    });
    this.#startClock();
    run.start(this.#pipelines);
    return run;
  }

  /** Stops all jobs and gives streams and buffers back. */
  async close(): Promise<void> {
    this.#closed = true;
    const runs = [...this.#runs];
    for (const run of runs) run.stop();
    await Promise.all(runs.map((run) => run.over));
    await Promise.all(this.#pipelines.map((pipeline) => pipeline.close()));
  }

  #named(device: string | undefined): readonly Pipeline[] {
    return this.#pipelines.filter((pipeline) => device === undefined || pipeline.device.info.id === device);
  }

  /** While jobs run, the clock also keeps the process alive: a device that hangs would not. */
  #startClock(): void {
    if (this.#timer !== undefined) return;
    const machine = new Machine();
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      // A late tick: the process was stopped, the machine slept, or this thread was busy and could not hear its devices.
      // A device on processors that other programs use is not silent either.
      const ms = Math.min(now - last, 2 * TICK_MS) * machine.share(now);
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

function check(what: string, value: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= 32) return;
  throw new MillraceError({
    code: 'usage',
    message: `${value} is no number of ${what}`,
    asked: `${what} ${value}`,
    advice: 'give a whole number from 1 to 32',
  });
}
