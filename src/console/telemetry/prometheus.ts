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
  const gauge = (name: string, help: string, of: MetricReader) => metric('gauge', name, help, of);
  const counter = (name: string, help: string, of: MetricReader) => metric('counter', `${name}_total`, help, of);
  const metric = (type: Metric['type'], name: string, help: string, of: MetricReader): Metric => ({
    name: `millrace_${name}`,
    help,
    type,
    values: devices.map((device) => ({ labels: labelsOf(device), value: of(device) })),
  });
  return [
    {
      name: 'millrace_build_info',
      help: 'The version that runs, and what it does.',
      type: 'gauge',
      values: [{ labels: { version, command }, value: 1 }],
    },
    {
      name: 'millrace_uptime_seconds',
      help: 'Since the job began.',
      type: 'gauge',
      values: [{ value: seconds }],
    },
    {
      name: 'millrace_cpu_seconds_total',
      help: 'Time of the processors that this process has used.',
      type: 'counter',
      values: [{ value: cpuSeconds }],
    },
    counter('items', 'Indices that count.', ({ tally }) => tally.items),
    {
      name: 'millrace_chunks_total',
      help: 'Chunks by how they ended.',
      type: 'counter',
      values: devices.flatMap((device) =>
        [...device.tally.outcomes].map(([outcome, value]) => ({ labels: { ...labelsOf(device), outcome }, value })),
      ),
    },
    gauge('fed_ratio', 'The share of the time that the device had work.', ({ status }) => status.fed),
    gauge('queue_depth', 'Chunks on the device.', ({ status }) => status.queueDepth),
    gauge('active_streams', 'Streams of the device with work.', ({ status }) => status.activeStreams),
    gauge(
      'occupancy_ratio',
      "The share of the device's threads that a launch keeps there.",
      ({ status }) => status.occupancy,
    ),
    {
      name: 'millrace_chunk_seconds',
      help: 'How long chunks took on the device.',
      type: 'histogram',
      values: devices.flatMap(histogram),
    },
    counter('partial_chunks', 'Chunks that were smaller than meant.', ({ tally }) => tally.partial),
    counter('compute_seconds', 'Launches, summed over chunks.', ({ tally }) => tally.ns.compute / 1e9),
    counter('copy_seconds', 'Copies, summed over chunks.', ({ tally }) => tally.ns.copy / 1e9),
    counter(
      'queued_seconds',
      'From taking a chunk to its first command, summed.',
      ({ tally }) => tally.ns.queued / 1e9,
    ),
    counter('unseen_seconds', "From a chunk's end to its notice, summed.", ({ tally }) => tally.ns.unseen / 1e9),
    counter('verify_seconds', 'Checks of results, summed over chunks.', ({ tally }) => tally.ns.verify / 1e9),
    counter('starved_seconds', 'Waits for a slot while the device had room.', ({ tally }) => tally.ns.starved / 1e9),
    counter('starved_chunks', 'Chunks that had to wait for a slot.', ({ tally }) => tally.starved),
    {
      name: 'millrace_copied_bytes_total',
      help: 'Bytes moved between host and device.',
      type: 'counter',
      values: devices.flatMap((device) => [
        { labels: { ...labelsOf(device), direction: 'to-device' }, value: device.tally.bytesToDevice },
        { labels: { ...labelsOf(device), direction: 'to-host' }, value: device.tally.bytesToHost },
      ]),
    },
    counter('launches', 'Launches given to the driver.', ({ telemetry }) => telemetry?.launches),
    counter('polls', 'Looks at work in flight.', ({ telemetry }) => telemetry?.polls),
    counter('blocking_waits', "Waits that held the device's thread up.", ({ telemetry }) => telemetry?.blockingWaits),
    counter('blocked_seconds', 'How long they took.', ({ telemetry }) => toSeconds(telemetry?.blockedNs)),
    counter('driver_seconds', "Calls of the driver's functions.", ({ telemetry }) =>
      toSeconds(driverCallsNs(telemetry)),
    ),
    gauge('temperature_celsius', 'Of the chip.', ({ sensors }) => sensors?.temperatureC),
    gauge('power_watts', 'What the device draws.', ({ sensors }) => sensors?.powerW),
    counter('energy_joules', 'What the device has used since the job began.', ({ joules }) => joules || undefined),
    gauge('items_per_joule', 'Indices that count for each joule.', ({ tally, joules }) =>
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
