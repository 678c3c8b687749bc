import { clockNs } from '../../device/clock.js';
import type { Device, Sensors } from '../../device/device.js';
import { type OpenOptions, readSensors } from '../../device/registry.js';
import type { Engine, EngineOptions } from '../../engine/index.js';
import { type Energy, NO_ENERGY, use } from '../../engine/telemetry/energy.js';
import { type ChunkRecord, Recorder } from '../../engine/telemetry/record.js';
import { Tally } from '../../engine/telemetry/tally.js';
import { type SensorSample, traceEvents } from '../../engine/telemetry/trace.js';
import { buildOf } from '../command/version.js';
import { plural } from '../output/format.js';
import { type LineFile, openLines } from '../output/line-file.js';
import type { Output } from '../output/output.js';
import { exposition } from './exposition.js';
import { METRICS_HEADER, metricsRow } from './metrics.js';
import { type TelemetryOptions, wantedViews } from './options.js';
import { type DeviceFigures, metricsOf } from './prometheus.js';
import { overlapLines, poolLines, reportOf, summaryLines } from './report.js';
import { type Scraping, startScraping } from './scrape.js';
import { openTrace, type TraceFile } from './trace-file.js';

/** The job's name, as in "block solve", and the unit of one index, as in H/s. */
export interface About {
  readonly name: string;
  readonly unit: string;
}

/** Telemetry of a command. It does nothing and costs nothing unless a view was requested. */
export interface Telemetry {
  /** For `openDevices`. */
  readonly opening: Pick<OpenOptions, 'telemetry'>;
  /** For the engine. */
  readonly engine: Pick<EngineOptions, 'records'>;
  /** Starts watching. */
  watch(engine: Engine, devices: readonly Device[]): void;
  /**
   * Writes and prints everything. Must be called after the engine is closed and before its devices are. Never throws. A
   * second call does nothing.
   */
  end(): Promise<void>;
}

/**
 * Runs `work` with the views that the command line requests, and ends them however it ends. An unwritable file or a port
 * in use is reported before anything runs. A view that fails later is dropped with a warning, and the job continues.
 */
export async function withTelemetry<Result>(
  given: TelemetryOptions,
  output: Output,
  about: About,
  work: (telemetry: Telemetry) => Promise<Result>,
): Promise<Result> {
  const telemetry = await startTelemetry(given, output, about);
  try {
    return await work(telemetry);
  } finally {
    await telemetry.end();
  }
}

async function startTelemetry(given: TelemetryOptions, output: Output, about: About): Promise<Telemetry> {
  const wanted = wantedViews(given);
  const { metrics, trace, poolMetrics, overlap, prometheus } = wanted;
  const isOn = metrics !== undefined || trace !== undefined || poolMetrics || overlap || prometheus !== undefined;
  if (!isOn) return OFF;
  const session = new Session(wanted, output, about);
  try {
    await session.open();
  } catch (error) {
    await session.close();
    throw error;
  }
  return session;
}

const OFF: Telemetry = { opening: {}, engine: {}, watch: () => {}, end: async () => {} };

/** Chunks retained for the reports: at 20 ms each a quarter of an hour on two streams, 40 MB. */
const KEPT = 65_536;
const SENSORS_MS = 1000;
/** Three hours for four devices. */
const SAMPLES = 43_200;

class Session implements Telemetry {
  readonly opening = { telemetry: true };
  readonly #wanted: TelemetryOptions;
  readonly #output: Output;
  readonly #about: About;
  readonly #recorder = new Recorder(KEPT);
  readonly #tally = new Tally();
  #originNs = clockNs();
  readonly #sensors = new Map<string, Sensors | undefined>();
  readonly #energy = new Map<string, Energy>();
  #samples: SensorSample[] = [];
  #metrics: LineFile | undefined;
  #trace: TraceFile | undefined;
  #scraping: Scraping | undefined;
  #engine: Engine | undefined;
  #devices: readonly Device[] = [];
  #startedMs = performance.now();
  #startedCpu = process.cpuUsage();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(wanted: TelemetryOptions, output: Output, about: About) {
    this.#wanted = wanted;
    this.#output = output;
    this.#about = about;
    this.#recorder.listen((record) => this.#settled(record));
  }

  get engine(): { readonly records: Recorder } {
    return { records: this.#recorder };
  }

  async open(): Promise<void> {
    const { metrics, trace, prometheus } = this.#wanted;
    if (metrics !== undefined) {
      this.#metrics = openLines(metrics, 'metrics');
      this.#metrics.write(METRICS_HEADER);
    }
    if (trace !== undefined) this.#trace = openTrace(trace);
    if (prometheus === undefined) return;
    this.#scraping = await startScraping(prometheus, () => this.#exposition());
    this.#output.say(`metrics for Prometheus: ${this.#scraping.url}`);
    this.#output.event('listening', { url: this.#scraping.url });
  }

  watch(engine: Engine, devices: readonly Device[]): void {
    this.#engine = engine;
    this.#devices = devices;
    this.#originNs = clockNs();
    this.#startedMs = performance.now();
    this.#startedCpu = process.cpuUsage();
    void this.#sense();
    this.#timer = setInterval(() => void this.#sense(), SENSORS_MS).unref();
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    clearInterval(this.#timer);
    await this.#sense(); // joules up to now
    this.#isOver = true;
    await this.#guarded('the summary', () => this.#tell());
    await this.#guarded('the trace', () => this.#writeTrace());
    await this.close();
  }

  /** Closes files and the server. */
  async close(): Promise<void> {
    this.#metrics?.close();
    this.#trace?.close();
    await this.#scraping?.close();
  }

  #settled(record: Readonly<ChunkRecord>): void {
    this.#tally.add(record);
    if (!this.#metrics) return;
    const row = metricsRow(record, this.#originNs);
    if (row === undefined) return;
    try {
      this.#metrics.write(row);
    } catch (error) {
      this.#metrics = undefined;
      this.#output.warn(`no more metrics are written: ${(error as Error).message}`);
    }
  }

  async #sense(): Promise<void> {
    await Promise.all(
      this.#devices.map(async ({ info: { id } }) => {
        const sensors = await readSensors(id).catch(() => undefined);
        if (this.#isOver) return;
        this.#sensors.set(id, sensors);
        this.#energy.set(id, use(this.#energy.get(id) ?? NO_ENERGY, sensors, performance.now()));
        const { temperatureC, powerW } = sensors ?? {};
        if (this.#trace === undefined || (temperatureC === undefined && powerW === undefined)) return;
        this.#samples.push({ device: id, atNs: clockNs(), temperatureC, powerW });
        if (this.#samples.length > SAMPLES) this.#samples = this.#samples.slice(SAMPLES / 10);
      }),
    );
  }

  get #elapsed(): { readonly seconds: number; readonly cpuSeconds: number } {
    const { user, system } = process.cpuUsage(this.#startedCpu);
    return { seconds: (performance.now() - this.#startedMs) / 1000, cpuSeconds: (user + system) / 1e6 };
  }

  async #figures(): Promise<DeviceFigures[]> {
    const statuses = this.#engine?.devices ?? [];
    return Promise.all(
      statuses.map(async (status) => {
        const { id } = status.info;
        const device = this.#devices.find(({ info }) => info.id === id);
        const telemetry = await device?.telemetry?.().catch(() => undefined);
        const { joules } = this.#energy.get(id) ?? NO_ENERGY;
        return { status, tally: this.#tally.of(id), sensors: this.#sensors.get(id), joules, telemetry };
      }),
    );
  }

  async #exposition(): Promise<string> {
    const devices = await this.#figures();
    return exposition(metricsOf({ version: buildOf(), command: this.#about.name, ...this.#elapsed, devices }));
  }

  async #tell(): Promise<void> {
    const { metrics, poolMetrics, overlap } = this.#wanted;
    const { made, capacity } = this.#recorder;
    const elapsed = { ...this.#elapsed, isWhole: made <= capacity };
    const records = [...this.#recorder];
    for (const figures of await this.#figures()) {
      const { id } = figures.status.info;
      const own = records.filter(({ device }) => device === id);
      const report = reportOf(figures, own, elapsed);
      this.#output.event('telemetry', { ...report });
      if (metrics !== undefined) for (const line of summaryLines(report, this.#about.unit)) this.#output.say(line);
      for (const { lines, warning } of [
        ...(poolMetrics ? [poolLines(report)] : []),
        ...(overlap ? [overlapLines(report)] : []),
      ]) {
        for (const line of lines) this.#output.say(line);
        if (warning !== undefined) this.#output.warn(warning);
      }
    }
  }

  #writeTrace(): void {
    const file = this.#trace;
    if (file === undefined) return;
    const { made, capacity } = this.#recorder;
    const kept = Math.min(made, capacity);
    const devices = this.#devices.map(({ info: { id, name } }) => ({ id, name }));
    const events = traceEvents({ records: this.#recorder, devices, samples: this.#samples, originNs: this.#originNs });
    file.write(events, {
      version: buildOf(),
      command: this.#about.name,
      unit: this.#about.unit,
      chunks: kept,
      of: made,
    });
    const which = kept === made ? plural(kept, 'chunk') : `the last ${plural(kept, 'chunk')} of ${made}`;
    this.#output.say(`trace of ${which}: ${file.path} (open it in ui.perfetto.dev)`);
  }

  /** Turns an error of a view into a warning: it must not fail the job. */
  async #guarded(what: string, act: () => void | Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#output.warn(`${what} could not be told: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
