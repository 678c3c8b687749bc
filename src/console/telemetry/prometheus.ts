import type { DeviceTelemetry, Sensors } from '../../device/device.js';
import type { DeviceStatus } from '../../engine/index.js';
import type { DeviceTally } from '../../engine/telemetry/tally.js';
import type { Metric, MetricValue } from './exposition.js';

/** The current figures of a device. */
export interface DeviceMetrics {
  readonly status: DeviceStatus;
  readonly tally: DeviceTally;
  readonly sensors: Sensors | undefined;
  readonly joules: number;
  readonly telemetry: DeviceTelemetry | undefined;
}

export interface MetricsSnapshot {
  readonly version: string;
  readonly command: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly devices: readonly DeviceMetrics[];
}

/** Returns all metrics. Names end in their unit; counters end in `_total`. */
export function prometheusMetrics({ version, command, seconds, cpuSeconds, devices }: MetricsSnapshot): Metric[] {
  const gauge = (name: string, help: string, read: MetricReader) => metric('gauge', name, help, read);
  const counter = (name: string, help: string, read: MetricReader) => metric('counter', `${name}_total`, help, read);
  const metric = (type: Metric['type'], name: string, help: string, read: MetricReader): Metric => ({
    name: `millrace_${name}`,
    help,
    type,
    values: devices.map((device) => ({ labels: labelsOf(device), value: read(device) })),
  });
  return [
    {
      name: 'millrace_build_info',
      help: 'Version and command of this process.',
      type: 'gauge',
      values: [{ labels: { version, command }, value: 1 }],
    },
    {
      name: 'millrace_uptime_seconds',
      help: 'Time since the job started.',
      type: 'gauge',
      values: [{ value: seconds }],
    },
    {
      name: 'millrace_cpu_seconds_total',
      help: 'CPU time used by this process.',
      type: 'counter',
      values: [{ value: cpuSeconds }],
    },
    counter('items', 'Indices counted as done.', ({ tally }) => tally.items),
    {
      name: 'millrace_chunks_total',
      help: 'Chunks by outcome.',
      type: 'counter',
      values: devices.flatMap((device) =>
        [...device.tally.outcomes].map(([outcome, value]) => ({ labels: { ...labelsOf(device), outcome }, value })),
      ),
    },
    gauge('fed_ratio', 'Share of the time that the device had work.', ({ status }) => status.fed),
    gauge('queue_depth', 'Chunks on the device.', ({ status }) => status.queueDepth),
    gauge('active_streams', 'Streams of the device that have work.', ({ status }) => status.activeStreams),
    gauge('occupancy_ratio', "Share of the device's threads that a launch occupies.", ({ status }) => status.occupancy),
    {
      name: 'millrace_chunk_seconds',
      help: 'Time of chunks on the device.',
      type: 'histogram',
      values: devices.flatMap(histogram),
    },
    counter('partial_chunks', 'Chunks smaller than intended.', ({ tally }) => tally.partial),
    counter('compute_seconds', 'Time of launches, summed over chunks.', ({ tally }) => tally.ns.compute / 1e9),
    counter('copy_seconds', 'Time of copies, summed over chunks.', ({ tally }) => tally.ns.copy / 1e9),
    counter(
      'queued_seconds',
      'Time from taking a chunk to its first command, summed over chunks.',
      ({ tally }) => tally.ns.queued / 1e9,
    ),
    counter(
      'unseen_seconds',
      'Time until the end of a chunk was noticed, summed over chunks.',
      ({ tally }) => tally.ns.unseen / 1e9,
    ),
    counter('verify_seconds', 'Time of checking results, summed over chunks.', ({ tally }) => tally.ns.verify / 1e9),
    counter(
      'starved_seconds',
      'Time spent waiting for a slot while the device could take work.',
      ({ tally }) => tally.ns.starved / 1e9,
    ),
    counter('starved_chunks', 'Chunks that waited for a slot.', ({ tally }) => tally.starved),
    {
      name: 'millrace_copied_bytes_total',
      help: 'Bytes moved between host and device.',
      type: 'counter',
      values: devices.flatMap((device) => [
        { labels: { ...labelsOf(device), direction: 'to-device' }, value: device.tally.bytesToDevice },
        { labels: { ...labelsOf(device), direction: 'to-host' }, value: device.tally.bytesToHost },
      ]),
    },
    counter('launches', 'Launches passed to the driver.', ({ telemetry }) => telemetry?.launches),
    counter('polls', 'Polls of work in flight.', ({ telemetry }) => telemetry?.polls),
    counter('blocking_waits', "Waits that blocked the device's thread.", ({ telemetry }) => telemetry?.blockingWaits),
    counter('blocked_seconds', 'Time spent in blocking waits.', ({ telemetry }) => toSeconds(telemetry?.blockedNs)),
    counter('driver_seconds', 'Time spent in driver calls.', ({ telemetry }) => toSeconds(driverCallsNs(telemetry))),
    gauge('temperature_celsius', 'Temperature of the chip.', ({ sensors }) => sensors?.temperatureC),
    gauge('power_watts', 'Power draw of the device.', ({ sensors }) => sensors?.powerW),
    counter('energy_joules', 'Energy used by the device since the job started.', ({ joules }) => joules || undefined),
    gauge('items_per_joule', 'Counted indices per joule.', ({ tally, joules }) =>
      joules > 0 ? Number(tally.items) / joules : undefined,
    ),
  ];
}

type MetricReader = (device: DeviceMetrics) => number | bigint | undefined;

const labelsOf = ({ status }: DeviceMetrics): { readonly device: string } => ({ device: status.info.id });

const toSeconds = (ns: number | undefined): number | undefined => (ns === undefined ? undefined : ns / 1e9);

/** Total time in the driver; undefined if its calls are not timed. */
export function driverCallsNs(telemetry: DeviceTelemetry | undefined): number | undefined {
  if (!telemetry || telemetry.calls.length === 0) return undefined;
  return telemetry.calls.reduce((sum, { totalNs }) => sum + totalNs, 0);
}

function histogram(device: DeviceMetrics): MetricValue[] {
  const labels = labelsOf(device);
  const { bounds, cumulative, sum, count } = device.tally.seconds;
  const buckets = bounds.map((bound, at) => ({
    suffix: '_bucket',
    labels: { ...labels, le: String(bound) },
    value: cumulative[at] ?? 0,
  }));
  return [
    ...buckets,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ];
}
