import type { Command } from 'commander';
import type { Engine } from '../../engine/index.js';
import { Exit, type ExitCode } from '../command/exit.js';
import { LiveTask } from '../live/live-task.js';
import { options } from '../options/options.js';
import { duration } from '../output/format.js';
import type { Output } from '../output/output.js';
import { readKeys } from './keys.js';
import { Limiter, type LimiterOptions, type MonitorHost, thisMachine } from './limiter.js';
import { type PauseControls, PauseReasons } from './pause-reasons.js';
import { type MonitoredJob, type RestorePoint, type Status, StatusMeter } from './status.js';
import { statusLine, statusLines } from './status-lines.js';

/** A job's limits, and how often its progress is reported. */
export interface MonitorOptions extends LimiterOptions {
  /** Seconds. */
  readonly runtime?: number;
  /** Seconds between two lines if there is no terminal. */
  readonly status?: number;
}

/** Adds these options to a command; `--max-cpu` is one of the device options. */
export function withMonitorOptions(command: Command): Command {
  return command
    .addOption(options.runtime())
    .addOption(options.maxTemp())
    .addOption(options.maxPower())
    .addOption(options.status());
}

/** The monitor's actions on a job, by itself or for a key. A job that has no devices here cannot pause one of them. */
export interface MonitorControls extends Partial<PauseControls> {
  /** Called when the whole job is paused or resumed, whether or not it has devices. */
  onPaused?(isPaused: boolean): void;
  /** Writes a checkpoint; omitted if nothing is stored. */
  checkpoint?(): void | Promise<void>;
  /** Stops the job at a checkpoint; `Exit.limit` when a limit is reached. */
  stop(exit: ExitCode): void;
  /** Aborted when the job should end. */
  readonly signal?: AbortSignal;
  /** What is stored; omitted if nothing is. */
  restorePoint?(): RestorePoint;
  /** Cancels the job in the ledger; omitted if there is none. */
  cancel?(): void;
  /** Sets the priority of the job in the ledger; omitted if there is none. */
  setPriority?(priority: number): Promise<void>;
  /** The values that define the job, for people. */
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface Monitor {
  /** Removes the screen before bytes are written past `output`; the next redraw restores it. */
  clear(): void;
  /** Does what the key does, for other sources: another process, a job of higher priority. */
  pause(isPaused: boolean, reason?: 'paused' | 'outranked'): void;
  /**
   * Called when devices were opened while the job ran: if the job is paused, they are paused before they receive work.
   */
  devicesOpened(): void;
  /**
   * Resolves when the job is no longer paused or should end; undefined if it is not paused. For work on the host, which
   * pausing devices does not stop.
   */
  whenRunning(): Promise<void> | undefined;
  end(): void;
}

/** Returns controls that pause an engine's devices. */
export const enginePauseControls = (engine: Engine): PauseControls => ({
  pause: (device) => engine.pause(device),
  resume: (device) => engine.resume(device),
});

/**
 * Monitors a job: a status screen on a terminal, periodic lines elsewhere, `progress` events; keys; limits. It pauses and
 * stops the job through `controls`, and never fails it.
 */
export function startMonitor(
  output: Output,
  given: MonitorOptions,
  job: MonitoredJob,
  controls: MonitorControls,
  monitorHost: MonitorHost = thisMachine,
): Monitor {
  const monitor = new JobMonitor(output, given, job, controls, monitorHost);
  monitor.start();
  return monitor;
}

/** Time between two polls of the job, and between two `progress` events. */
const POLL_MS = 500;
const EVENT_MS = 1000;
/** Seconds before the first line of a log: a shorter job needs none. */
const FIRST_LINE_S = 10;
const LINE_INTERVAL_S = 60;

class JobMonitor implements Monitor {
  readonly #output: Output;
  readonly #given: MonitorOptions;
  readonly #job: MonitoredJob;
  readonly #controls: MonitorControls;
  readonly #meter: StatusMeter;
  readonly #pauseReasons: PauseReasons;
  readonly #limiter: Limiter;
  readonly #stdin: NodeJS.ReadStream | undefined;
  readonly #live: LiveTask;
  readonly #reportedLost = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #keys: { end(): void } = { end: () => {} };
  readonly #paused = new Set<'paused' | 'outranked'>();
  /** Callbacks of `whenRunning`. */
  readonly #waiting: (() => void)[] = [];
  readonly #wake = (): void => {
    for (const resume of this.#waiting.splice(0)) resume();
  };
  #isOver = false;
  #lastEventMs = performance.now();
  #nextLineS: number;

  constructor(
    output: Output,
    given: MonitorOptions,
    job: MonitoredJob,
    controls: MonitorControls,
    monitorHost: MonitorHost,
  ) {
    this.#output = output;
    this.#given = given;
    this.#job = job;
    this.#controls = controls;
    this.#meter = new StatusMeter(job);
    this.#pauseReasons = new PauseReasons(controls);
    this.#limiter = new Limiter(output, given, () => job.devices(), this.#pauseReasons, monitorHost);
    this.#stdin = monitorHost.stdin;
    this.#live = new LiveTask(output.hub, job, controls, (isPaused) => {
      output.say(isPaused ? 'paused on request' : 'resumed on request');
      this.pause(isPaused);
    });
    this.#nextLineS = Math.min(FIRST_LINE_S, given.status ?? LINE_INTERVAL_S);
  }

  start(): void {
    this.#live.start();
    this.#timer = setInterval(() => this.#poll(), POLL_MS);
    this.#limiter.start();
    if (this.#output.live.isEnabled && this.#stdin) {
      this.#keys = readKeys({ onKey: (key) => this.#onKey(key), onSuspend: () => this.clear() }, this.#stdin);
    }
    process.on('SIGWINCH', this.#draw);
    this.#controls.signal?.addEventListener('abort', this.#wake);
  }

  clear(): void {
    this.#output.live.clear();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#live.end();
    this.#limiter.end();
    this.#pauseReasons.release();
    process.off('SIGWINCH', this.#draw);
    this.#controls.signal?.removeEventListener('abort', this.#wake);
    this.#wake();
    this.#keys.end();
    this.#reportLost();
    this.clear();
  }

  #status(): Status {
    const state = this.#controls.signal?.aborted ? 'stopping' : this.#paused.size > 0 ? 'paused' : 'running';
    const conditions = (device: string) => ({
      sensors: this.#limiter.sensorsOf(device),
      energy: this.#limiter.energyOf(device),
      pauseReason: this.#pauseReasons.reasonOf(device),
    });
    return this.#meter.measure(state, conditions, performance.now(), this.#controls.restorePoint?.());
  }

  #poll(): void {
    this.devicesOpened();
    this.#reportLost();
    const status = this.#status();
    this.#draw(status);
    const nowMs = performance.now();
    if (nowMs - this.#lastEventMs >= EVENT_MS) {
      this.#lastEventMs = nowMs;
      this.#output.event('progress', progressFields(status));
      this.#live.publishDetails();
    }
    const { runtime, status: every = LINE_INTERVAL_S } = this.#given;
    if (!this.#output.live.isEnabled && status.seconds >= this.#nextLineS) {
      this.#nextLineS = Math.max(this.#nextLineS + every, status.seconds);
      this.#output.say(`[${timestamp()}]  ${status.name}  ${statusLine(status)}`);
    }
    if (runtime === undefined || status.seconds < runtime || status.state === 'stopping') return;
    this.#output.say(`reached --runtime ${duration(runtime)}: stopping`);
    this.#controls.stop(Exit.limit);
  }

  readonly #draw = (status: unknown = this.#status()): void => {
    const { live, stderrStyle } = this.#output;
    if (!live.isEnabled || this.#isOver) return;
    // On a resize, the argument is the signal's name.
    const shown = typeof status === 'object' ? (status as Status) : this.#status();
    live.show([...statusLines(shown, stderrStyle, live.columns), stderrStyle.dim(this.#help(live.columns))]);
  };

  #help(columns: number): string {
    const keys = ['status', 'pause', 'resume', ...(this.#controls.checkpoint ? ['checkpoint'] : []), 'quit'];
    const words = keys.map((key) => `[${key[0]}]${key.slice(1)}`).join(' ');
    return words.length <= columns ? words : `keys: ${keys.map((key) => key[0]).join(' ')}`;
  }

  #onKey(key: string): void {
    switch (key) {
      case 's':
        for (const line of statusLines(this.#status(), this.#output.stderrStyle, this.#output.live.columns))
          this.#output.say(line);
        this.#output.say('');
        break;
      case 'p':
        this.pause(true);
        break;
      case 'r':
        this.pause(false);
        break;
      case 'c':
        void this.#checkpoint();
        break;
      case 'q':
        this.#controls.stop(Exit.stopped);
    }
    this.#draw();
  }

  pause(isPaused: boolean, reason: 'paused' | 'outranked' = 'paused'): void {
    if (this.#paused.has(reason) === isPaused) return;
    if (isPaused) this.#paused.add(reason);
    else this.#paused.delete(reason);
    for (const { info } of this.#job.devices()) this.#pauseReasons.set(info.id, reason, isPaused);
    this.#controls.onPaused?.(this.#paused.size > 0);
    if (this.#paused.size === 0) this.#wake();
    this.#output.event(isPaused ? 'paused' : 'resumed', { reason: reason === 'paused' ? 'asked' : reason });
  }

  devicesOpened(): void {
    for (const { info } of this.#job.devices()) {
      for (const reason of this.#paused) this.#pauseReasons.set(info.id, reason, true);
    }
  }

  whenRunning(): Promise<void> | undefined {
    if (this.#paused.size === 0 || this.#isOver || this.#controls.signal?.aborted) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #checkpoint(): Promise<void> {
    if (!this.#controls.checkpoint) return this.#output.say('this job is not stored');
    try {
      await this.#controls.checkpoint();
      this.#output.event('checkpoint', {});
      this.#output.say('checkpoint written');
    } catch (error) {
      this.#output.warn(`cannot write a checkpoint: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #reportLost(): void {
    for (const { info, fault } of this.#job.devices()) {
      if (fault === undefined || this.#reportedLost.has(info.id)) continue;
      this.#reportedLost.add(info.id);
      this.#output.event('lost', { device: info.id, code: fault.code, message: fault.message });
      this.#output.warn(`${info.id} is no longer used: ${fault.message}`);
    }
  }
}

/** Returns a status as the fields of a `progress` event. */
export function progressFields({
  name: _,
  unit: __,
  notes: ___,
  current,
  ...fields
}: Status): Readonly<Record<string, unknown>> {
  return { ...fields, current: current === 'none' ? undefined : current };
}

/** Formats the local time to the millisecond. */
function timestamp(now = new Date()): string {
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  return local.toISOString().replace('T', ' ').replace('Z', '');
}
