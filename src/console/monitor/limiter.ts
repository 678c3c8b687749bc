import { availableParallelism } from 'node:os';
import type { DeviceInfo, Sensors } from '../../device/device.js';
import { readSensors } from '../../device/registry.js';
import type { DeviceStatus } from '../../engine/index.js';
import { addEnergySample, type Energy, NO_ENERGY } from '../../engine/telemetry/energy.js';
import { host } from '../command/host.js';
import type { Output } from '../output/output.js';
import {
  type CpuBudget,
  type DeviceLimits,
  FULL_BUDGET,
  type LimitPause,
  NOT_PAUSED,
  nextPause,
  spend,
} from './limits.js';
import type { PauseReasons } from './pause-reasons.js';

export interface LimiterOptions extends DeviceLimits {
  /** Share of all processors, 0 to 1. */
  readonly maxCpu?: number;
}

/** Access to the machine; tests supply their own. */
export interface MonitorHost {
  readonly stdin?: NodeJS.ReadStream;
  sensors(device: string): Promise<Sensors | undefined>;
  readonly processors: number;
  /** CPU time of this process, in milliseconds. */
  cpuMs(): number;
}

export const thisMachine: MonitorHost = {
  get stdin() {
    return host().stdin;
  },
  sensors: readSensors,
  processors: availableParallelism(),
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
};

/** Reading a GPU's sensors takes a millisecond. */
const SENSORS_MS = 2000;
const CPU_MS = 100;

/** Reads the sensors of a job's devices and pauses devices that exceed a limit. */
export class Limiter {
  readonly #output: Output;
  readonly #limits: LimiterOptions;
  readonly #devices: () => readonly DeviceStatus[];
  readonly #pauseReasons: PauseReasons;
  readonly #host: MonitorHost;
  readonly #sensors = new Map<string, Sensors | undefined>();
  readonly #energy = new Map<string, Energy>();
  readonly #pauses = new Map<string, LimitPause>();
  readonly #timers: NodeJS.Timeout[] = [];
  #cpu: CpuBudget = FULL_BUDGET;
  #isOver = false;

  constructor(
    output: Output,
    limits: LimiterOptions,
    devices: () => readonly DeviceStatus[],
    pauseReasons: PauseReasons,
    monitorHost: MonitorHost,
  ) {
    this.#output = output;
    this.#limits = limits;
    this.#devices = devices;
    this.#pauseReasons = pauseReasons;
    this.#host = monitorHost;
  }

  start(): void {
    const { maxTemp, maxPower, maxCpu } = this.#limits;
    const isAlways =
      this.#output.live.isEnabled || this.#output.hasEvents || maxTemp !== undefined || maxPower !== undefined;
    const poll = (): void => {
      if (isAlways || this.#output.hub.isWatched) void this.#pollSensors();
    };
    this.#timers.push(setInterval(poll, SENSORS_MS));
    poll();
    if (maxCpu !== undefined && maxCpu < 1) this.#watchCpu(maxCpu);
  }

  sensorsOf(device: string): Sensors | undefined {
    return this.#sensors.get(device);
  }

  energyOf(device: string): Energy {
    return this.#energy.get(device) ?? NO_ENERGY;
  }

  end(): void {
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #pollSensors(): Promise<void> {
    await Promise.all(this.#devices().map(({ info }) => this.#pollDevice(info)));
  }

  async #pollDevice({ id }: DeviceInfo): Promise<void> {
    const sensors = await this.#host.sensors(id).catch(() => undefined);
    if (this.#isOver) return;
    if (!this.#sensors.has(id)) this.#warnNoSensor(id, sensors);
    this.#sensors.set(id, sensors);
    this.#energy.set(id, addEnergySample(this.energyOf(id), sensors, performance.now()));
    const { cause, ...rest } = nextPause(this.#pauses.get(id) ?? NOT_PAUSED, sensors, this.#limits, performance.now());
    this.#pauses.set(id, { cause, ...rest });
    for (const reason of ['too hot', 'too much power'] as const) {
      if (!this.#pauseReasons.set(id, reason, cause === reason)) continue;
      const { temperatureC, powerW } = sensors ?? {};
      this.#output.event(cause === reason ? 'paused' : 'resumed', { device: id, reason, temperatureC, powerW });
      const figure = reason === 'too hot' ? `${temperatureC ?? '?'} °C` : `${powerW ?? '?'} W`;
      this.#output.say(cause === reason ? `${id} pauses: ${reason} (${figure})` : `${id} resumes (${figure})`);
    }
  }

  /** Warns once about a limit for which the device has no sensor. */
  #warnNoSensor(device: string, sensors: Sensors | undefined): void {
    const { maxTemp, maxPower } = this.#limits;
    const warn = (option: string, quantity: string): void =>
      this.#output.warn(`${device} does not report its ${quantity}: ${option} has no effect on it`);
    if (maxTemp !== undefined && sensors?.temperatureC === undefined) warn('--max-temp', 'temperature');
    if (maxPower !== undefined && sensors?.powerW === undefined) warn('--max-power', 'power');
  }

  #watchCpu(share: number): void {
    let lastMs = performance.now();
    let lastCpuMs = this.#host.cpuMs();
    const poll = (): void => {
      const nowMs = performance.now();
      const cpuMs = this.#host.cpuMs();
      this.#cpu = spend(this.#cpu, share, this.#host.processors, nowMs - lastMs, cpuMs - lastCpuMs);
      lastMs = nowMs;
      lastCpuMs = cpuMs;
      for (const { info } of this.#devices()) {
        if (info.processor === 'cpu') this.#pauseReasons.set(info.id, 'cpu', this.#cpu.isOverspent);
      }
    };
    this.#timers.push(setInterval(poll, CPU_MS));
  }
}
