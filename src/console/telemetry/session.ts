import { clockNs } from '../../device/clock.js';
import type { Device, Sensors } from '../../device/device.js';
import { type OpenOptions, readSensors } from '../../device/registry.js';
import type { Engine, EngineOptions } from '../../engine/index.js';
import { addEnergySample, type Energy, NO_ENERGY } from '../../engine/telemetry/energy.js';
import { type ChunkRecord, Recorder } from '../../engine/telemetry/record.js';
import { Tally } from '../../engine/telemetry/tally.js';
import { type SensorSample, type TraceEvent, traceEvents } from '../../engine/telemetry/trace.js';
import { buildVersion } from '../command/version.js';
import { ChunkFeed } from '../live/chunk-feed.js';
import { type CommandDashboard, openDashboard } from '../live/dashboard-loader.js';
import { plural } from '../output/format.js';
import { type LineFile, openLineFile } from '../output/line-file.js';
import type { Output } from '../output/output.js';
import { exposition } from './exposition.js';
import { METRICS_HEADER, metricsRow } from './metrics.js';
import { type MetricsServer, openMetricsServer } from './metrics-loader.js';
import { type TelemetryOptions, withUpstreamVariables } from './options.js';
import { type DeviceMetrics, prometheusMetrics } from './prometheus.js';
import { deviceReport, overlapLines, poolLines, summaryLines } from './report.js';
import { openTrace, type TraceFile, traceText } from './trace-file.js';

/** The job's name, as in "block solve", and the unit of one index, as in H/s. */
export interface JobLabel {
  readonly name: string;
  readonly unit: string;
}

/** Telemetry of a command. It does nothing and costs nothing unless a view was requested. */
export interface Telemetry {
  /** For `openDevices`. */
  readonly openOptions: Pick<OpenOptions, 'telemetry'>;
  /** For the engine. */
  readonly engineOptions: Pick<EngineOptions, 'records'>;
  /** Starts watching. */
  start(engine: Engine, devices: readonly Device[]): void;
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
  given: TelemetryOptions & { readonly dataDir?: string },
  output: Output,
  about: JobLabel,
  work: (telemetry: Telemetry) => Promise<Result>,
): Promise<Result> {
  const telemetry = await startTelemetry(given, output, about);
  try {
    return await work(telemetry);
  } finally {
    await telemetry.end();
  }
}

async function startTelemetry(
  given: TelemetryOptions & { readonly dataDir?: string },
  output: Output,
  about: JobLabel,
): Promise<Telemetry> {
  const options = withUpstreamVariables(given);
  const { poolMetrics, overlap } = options;
  const hasFile = options.metrics !== undefined || options.trace !== undefined;
  const hasServer = options.prometheus !== undefined || options.dashboard !== undefined;
  const isOn = hasFile || hasServer || poolMetrics || overlap;
  if (!isOn) return NO_TELEMETRY;
  const session = new TelemetrySession(options, output, about, given.dataDir);
  try {
    await session.open();
  } catch (error) {
    await session.close();
    throw error;
  }
  return session;
}

const NO_TELEMETRY: Telemetry = { openOptions: {}, engineOptions: {}, start: () => {}, end: async () => {} };

/** Chunks retained for the reports: at 20 ms each a quarter of an hour on two streams, 40 MB. */
const MAX_RECORDS = 65_536;
const SENSORS_MS = 1000;
/** Three hours for four devices. */
const MAX_SAMPLES = 43_200;

class TelemetrySession implements Telemetry {
  readonly openOptions = { telemetry: true };
  readonly #options: TelemetryOptions;
  readonly #output: Output;
  readonly #label: JobLabel;
  readonly #recorder = new Recorder(MAX_RECORDS);
  readonly #tally = new Tally();
  #originNs = clockNs();
  readonly #sensors = new Map<string, Sensors | undefined>();
  readonly #energy = new Map<string, Energy>();
  #samples: SensorSample[] = [];
  #metrics: LineFile | undefined;
  #trace: TraceFile | undefined;
  #server: MetricsServer | undefined;
  #dashboard: CommandDashboard | undefined;
  readonly #feed: ChunkFeed;
  readonly #dataDir: string | undefined;
  #engine: Engine | undefined;
  #devices: readonly Device[] = [];
  #startedMs = performance.now();
  #startedCpu = process.cpuUsage();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: TelemetryOptions, output: Output, about: JobLabel, dataDir: string | undefined) {
    this.#dataDir = dataDir;
    this.#feed = new ChunkFeed(output.hub);
    this.#options = options;
    this.#output = output;
    this.#label = about;
    this.#recorder.listen((record) => this.#onRecord(record));
  }

  get engineOptions(): { readonly records: Recorder } {
    return { records: this.#recorder };
  }

  async open(): Promise<void> {
    const { metrics, trace, prometheus, dashboard } = this.#options;
    if (metrics !== undefined) {
      this.#metrics = openLineFile(metrics, 'metrics');
      this.#metrics.write(METRICS_HEADER);
    }
    if (trace !== undefined) this.#trace = openTrace(trace);
    this.#dashboard = await openDashboard(dashboard, this.#output, this.#dataDir);
    this.#server = await openMetricsServer(prometheus, this.#output, () => this.#exposition());
  }

  start(engine: Engine, devices: readonly Device[]): void {
    this.#output.hub.trace = () => traceText(this.#traceEvents(), this.#about());
    this.#engine = engine;
    this.#devices = devices;
    this.#originNs = clockNs();
    this.#startedMs = performance.now();
    this.#startedCpu = process.cpuUsage();
    void this.#pollSensors();
    this.#timer = setInterval(() => void this.#pollSensors(), SENSORS_MS).unref();
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    clearInterval(this.#timer);
    await this.#pollSensors(); // joules up to now
    this.#isOver = true;
    await this.#guarded('the summary', () => this.#report());
    await this.#guarded('the trace', () => this.#writeTrace());
    await this.close();
  }

  /** Closes files and the server. */
  async close(): Promise<void> {
    this.#metrics?.close();
    this.#trace?.close();
    this.#feed.end();
    await this.#server?.close();
    await this.#dashboard?.close();
  }

  #onRecord(record: Readonly<ChunkRecord>): void {
    this.#tally.add(record);
    this.#feed.add(record);
    if (!this.#metrics) return;
    const row = metricsRow(record, this.#originNs);
    if (row === undefined) return;
    try {
      this.#metrics.write(row);
    } catch (error) {
      this.#metrics = undefined;
      this.#output.warn(`metrics are no longer written: ${(error as Error).message}`);
    }
  }

  async #pollSensors(): Promise<void> {
    await Promise.all(
      this.#devices.map(async ({ info: { id } }) => {
        const sensors = await readSensors(id).catch(() => undefined);
        if (this.#isOver) return;
        this.#sensors.set(id, sensors);
        this.#energy.set(id, addEnergySample(this.#energy.get(id) ?? NO_ENERGY, sensors, performance.now()));
        const { temperatureC, powerW } = sensors ?? {};
        if (this.#trace === undefined || (temperatureC === undefined && powerW === undefined)) return;
        this.#samples.push({ device: id, atNs: clockNs(), temperatureC, powerW });
        if (this.#samples.length > MAX_SAMPLES) this.#samples = this.#samples.slice(MAX_SAMPLES / 10);
      }),
    );
  }

  get #elapsed(): { readonly seconds: number; readonly cpuSeconds: number } {
    const { user, system } = process.cpuUsage(this.#startedCpu);
    return { seconds: (performance.now() - this.#startedMs) / 1000, cpuSeconds: (user + system) / 1e6 };
  }

  async #deviceMetrics(): Promise<DeviceMetrics[]> {
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
    const devices = await this.#deviceMetrics();
    return exposition(
      prometheusMetrics({ version: buildVersion(), command: this.#label.name, ...this.#elapsed, devices }),
    );
  }

  async #report(): Promise<void> {
    const { metrics, poolMetrics, overlap } = this.#options;
    const { createdCount, capacity } = this.#recorder;
    const elapsed = { ...this.#elapsed, hasAllRecords: createdCount <= capacity };
    const records = [...this.#recorder];
    for (const figures of await this.#deviceMetrics()) {
      const { id } = figures.status.info;
      const own = records.filter(({ device }) => device === id);
      const report = deviceReport(figures, own, elapsed);
      this.#output.event('telemetry', { ...report });
      if (metrics !== undefined) for (const line of summaryLines(report, this.#label.unit)) this.#output.say(line);
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
    const { chunks: kept, of: createdCount } = this.#about();
    file.write(this.#traceEvents(), this.#about());
    const which =
      kept === createdCount ? plural(kept, 'chunk') : `the last ${plural(kept, 'chunk')} of ${createdCount}`;
    this.#output.say(`trace of ${which}: ${file.path} (open it in ui.perfetto.dev)`);
  }

  #traceEvents(): Iterable<TraceEvent> {
    const devices = this.#devices.map(({ info: { id, name } }) => ({ id, name }));
    return traceEvents({ records: this.#recorder, devices, samples: this.#samples, originNs: this.#originNs });
  }

  /** Describes the trace. */
  #about() {
    const { createdCount, capacity } = this.#recorder;
    const { name: command, unit } = this.#label;
    return { version: buildVersion(), command, unit, chunks: Math.min(createdCount, capacity), of: createdCount };
  }

  /** Turns an error of a view into a warning: it must not fail the job. */
  async #guarded(what: string, act: () => void | Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.#output.warn(`cannot write ${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
