import { availableParallelism } from 'node:os';
import type { DeviceInfo, Sensors } from '../../device/device.js';
import { readSensors } from '../../device/registry.js';
import type { DeviceStatus } from '../../engine/index.js';
import { host } from '../command/host.js';
import type { Output } from '../output/output.js';
import { type CpuBudget, FREE, FULL_BUDGET, type Hold, hold, type Limits, spend } from './limits.js';
import type { Holds } from './pause-reasons.js';

export interface LimiterOptions extends Limits {
  /** Share of all processors, 0 to 1. */
  readonly maxCpu?: number;
}

/** Access to the machine; tests supply their own. */
export interface Surroundings {
  readonly stdin?: NodeJS.ReadStream;
  sensors(device: string): Promise<Sensors | undefined>;
  readonly processors: number;
  /** CPU time of this process, in milliseconds. */
  cpuMs(): number;
}

export const thisMachine: Surroundings = {
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
  readonly #given: LimiterOptions;
  readonly #devices: () => readonly DeviceStatus[];
  readonly #holds: Holds;
  readonly #here: Surroundings;
  readonly #sensors = new Map<string, Sensors | undefined>();
  readonly #limited = new Map<string, Hold>();
  readonly #timers: NodeJS.Timeout[] = [];
  #cpu: CpuBudget = FULL_BUDGET;
  #isOver = false;

  constructor(
    output: Output,
    given: LimiterOptions,
    devices: () => readonly DeviceStatus[],
    holds: Holds,
    here: Surroundings,
  ) {
    this.#output = output;
    this.#given = given;
    this.#devices = devices;
    this.#holds = holds;
    this.#here = here;
  }

  start(): void {
    const { maxTemp, maxPower, maxCpu } = this.#given;
    const isWatched = this.#output.live.isThere || this.#output.hasEvents;
    if (isWatched || maxTemp !== undefined || maxPower !== undefined) {
      this.#timers.push(setInterval(() => void this.#sense(), SENSORS_MS));
      void this.#sense();
    }
    if (maxCpu !== undefined && maxCpu < 1) this.#watchCpu(maxCpu);
  }

  sensorsOf(device: string): Sensors | undefined {
    return this.#sensors.get(device);
  }

  end(): void {
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #sense(): Promise<void> {
    await Promise.all(this.#devices().map(({ info }) => this.#senseOne(info)));
  }

  async #senseOne({ id }: DeviceInfo): Promise<void> {
    const sensors = await this.#here.sensors(id).catch(() => undefined);
    if (this.#isOver) return;
    if (!this.#sensors.has(id)) this.#tellUnknown(id, sensors);
    this.#sensors.set(id, sensors);
    const { held, ...rest } = hold(this.#limited.get(id) ?? FREE, sensors, this.#given, performance.now());
    this.#limited.set(id, { held, ...rest });
    for (const reason of ['too hot', 'too much power'] as const) {
      if (!this.#holds.set(id, reason, held === reason)) continue;
      const { temperatureC, powerW } = sensors ?? {};
      this.#output.event(held === reason ? 'paused' : 'resumed', { device: id, reason, temperatureC, powerW });
      const figure = reason === 'too hot' ? `${temperatureC ?? '?'} °C` : `${powerW ?? '?'} W`;
      this.#output.say(held === reason ? `${id} pauses: ${reason} (${figure})` : `${id} goes on (${figure})`);
    }
  }

  /** Warns once about a limit for which the device has no sensor. */
  #tellUnknown(device: string, sensors: Sensors | undefined): void {
    const { maxTemp, maxPower } = this.#given;
    const tell = (option: string, what: string): void =>
      this.#output.warn(`${device} does not tell its ${what}: ${option} has no effect on it`);
    if (maxTemp !== undefined && sensors?.temperatureC === undefined) tell('--max-temp', 'temperature');
    if (maxPower !== undefined && sensors?.powerW === undefined) tell('--max-power', 'power');
  }

  #watchCpu(share: number): void {
    let lastMs = performance.now();
    let lastCpuMs = this.#here.cpuMs();
    const look = (): void => {
      const nowMs = performance.now();
      const cpuMs = this.#here.cpuMs();
      this.#cpu = spend(this.#cpu, share, this.#here.processors, nowMs - lastMs, cpuMs - lastCpuMs);
      lastMs = nowMs;
      lastCpuMs = cpuMs;
      for (const { info } of this.#devices()) {
        if (info.processor === 'cpu') this.#holds.set(info.id, 'cpu', this.#cpu.isHeld);
      }
    };
    this.#timers.push(setInterval(look, CPU_MS));
  }
}
