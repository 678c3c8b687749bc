import type { Device } from '../../device/device.js';
import { type OpenOptions, openDevices } from '../../device/registry.js';
import { type Aim, Engine, type EngineOptions } from '../../engine/index.js';
import type { Store } from '../../store/index.js';
import { announce } from '../live/announce.js';
import { type DeviceCommandOptions, type DeviceSetup, setUpDevices } from '../options/device-options.js';
import { type PipelineCommandOptions, pipelineSetup } from '../options/pipeline-options.js';
import { type TuningOptions, useStoredTunings } from '../options/tuning-options.js';
import type { TelemetryOptions } from '../telemetry/options.js';
import { type JobLabel, type Telemetry, withTelemetry } from '../telemetry/session.js';
import type { Call } from './action.js';
import { defaultDataDirectory } from './paths.js';

/**
 * Options of a command that uses an engine. With `tuning`, its devices use the settings that `millrace tune` found best.
 */
export type EngineCommandOptions = DeviceCommandOptions &
  PipelineCommandOptions &
  TelemetryOptions &
  Partial<TuningOptions> & { readonly device?: string };

/** What a command's engine needs in addition to its options. */
export interface EngineSetup extends JobLabel {
  /** Default: `--device`. */
  readonly device?: string;
  /** Threads of CPU devices. Default: all; `--threads` overrides it. */
  readonly threads?: number;
  /** The processor of the device that `auto` chooses. Default: any. */
  readonly processor?: OpenOptions['processor'];
  /** Default: the command's options. */
  readonly feeding?: PipelineCommandOptions;
  /** Kernels that devices may compile while they open. */
  readonly expect?: OpenOptions['expect'];
  /** The ledger, if the command has it open. */
  readonly ledger?: Promise<Store | undefined>;
  /** Default: an engine with these options. */
  make?(devices: readonly Device[], options: EngineOptions): Engine | Promise<Engine>;
}

/** An engine on opened devices. */
export interface OpenedEngine {
  readonly engine: Engine;
  readonly devices: readonly Device[];
  /** The goal for chunk length. */
  readonly aim: Aim | undefined;
  /** Starts telemetry; called when kernels are compiled. */
  startTelemetry(): void;
  /** Closes the engine and ends telemetry. If it is not called, both happen after the work. */
  close(): Promise<void>;
}

/**
 * Runs `work` on an engine with the devices, pipeline and telemetry that a command's options request. Afterwards, also
 * after an error, it closes the engine, ends telemetry, prints `--api-table` and closes the devices, in this order.
 */
export function withEngine<Result>(
  call: Call<EngineCommandOptions>,
  setup: EngineSetup,
  work: (opened: OpenedEngine) => Promise<Result>,
): Promise<Result> {
  return withLazyEngine(call, setup, async (open) => work(await open()));
}

/** Like `withEngine`, for work that opens the engine when needed, at most once. */
export function withLazyEngine<Result>(
  call: Call<EngineCommandOptions>,
  setup: EngineSetup,
  work: (open: () => Promise<OpenedEngine>) => Promise<Result>,
): Promise<Result> {
  return withTelemetry(call.options, call.output, setup, async (telemetry) => {
    const session = new EngineSession(call, setup, telemetry);
    const announcement = announce(call.options.dataDir ?? defaultDataDirectory(), call.output);
    try {
      return await work(() => session.open());
    } finally {
      announcement.end();
      await session.end();
    }
  });
}

class EngineSession {
  readonly #call: Call<EngineCommandOptions>;
  readonly #setup: EngineSetup;
  readonly #telemetry: Telemetry;
  readonly #engineOptions: EngineOptions;
  readonly #deviceSetup: DeviceSetup;
  #devices: readonly Device[] = [];
  #engine: Engine | undefined;

  constructor(call: Call<EngineCommandOptions>, setup: EngineSetup, telemetry: Telemetry) {
    const { output, options: given, signal } = call;
    const { threads, feeding = given } = setup;
    this.#call = call;
    this.#setup = setup;
    this.#telemetry = telemetry;
    const { engine, driver } = pipelineSetup(feeding, output);
    this.#engineOptions = { ...engine, ...telemetry.engineOptions };
    this.#deviceSetup = setUpDevices({ ...(threads !== undefined && { threads }), ...given }, output, {
      ...driver,
      signal,
    });
  }

  async open(): Promise<OpenedEngine> {
    const { output, options: given } = this.#call;
    const { device = given.device ?? 'auto', processor, expect, ledger, make } = this.#setup;
    const { tuning, dataDir } = given;
    if (tuning !== undefined && dataDir !== undefined) useStoredTunings({ tuning, dataDir }, output, ledger);
    const devices = await openDevices(device, {
      ...this.#deviceSetup.options,
      ...this.#telemetry.openOptions,
      ...(expect && { expect }),
      ...(processor && { processor }),
    });
    this.#devices = devices;
    const engine = (await make?.(devices, this.#engineOptions)) ?? new Engine(devices, this.#engineOptions);
    this.#engine = engine;
    for (const { info } of devices) output.event('device', { id: info.id, name: info.name });
    return {
      engine,
      devices,
      aim: this.#deviceSetup.aim,
      startTelemetry: () => this.#telemetry.start(engine, devices),
      close: () => this.#close(),
    };
  }

  async end(): Promise<void> {
    try {
      await this.#close();
      for (const device of this.#devices) await this.#deviceSetup.reportApiCalls(device);
    } finally {
      await Promise.all(this.#devices.map((device) => device.close()));
    }
  }

  async #close(): Promise<void> {
    await this.#engine?.close();
    await this.#telemetry.end();
  }
}
