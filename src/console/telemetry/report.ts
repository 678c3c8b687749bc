import {
  lengthOf,
  lengthRatio,
  type Overlap,
  overlapOf,
  phasesOf,
  type Span,
  union,
} from '../../engine/telemetry/overlap.js';
import { MAX_STARVATION, type PoolMetrics, poolMetrics } from '../../engine/telemetry/pool-metrics.js';
import type { ChunkRecord } from '../../engine/telemetry/record.js';
import { bytes, count, duration, percent, plural, rate, scaled } from '../output/format.js';
import { type DeviceMetrics, driverCallsNs } from './prometheus.js';

/** A device's totals at the end of a job: the fields of a `telemetry` event and the source of the printed lines. */
export interface DeviceReport {
  readonly device: string;
  readonly seconds: number;
  /** Time during which the device had work. */
  readonly busySeconds: number;
  readonly fed: number | undefined;
  readonly items: bigint;
  readonly perSecond: number;
  readonly chunks: Readonly<Record<string, number>>;
  readonly partialChunks: number;
  /** Number of chunks by queue depth when they were enqueued, from 0. */
  readonly depths: readonly number[];
  readonly occupancy: number | undefined;
  /** Summed over chunks. */
  readonly times: Readonly<Record<string, number>>;
  readonly bytesToDevice: number;
  readonly bytesToHost: number;
  readonly launches: number | undefined;
  readonly polls: number | undefined;
  readonly blockingWaits: number | undefined;
  readonly blockedSeconds: number | undefined;
  /** Share of the time in the driver, 0 to 1. */
  readonly blockingShare: number | undefined;
  /** CPU time of the process. */
  readonly cpuSeconds: number;
  readonly joules: number | undefined;
  readonly itemsPerJoule: number | undefined;
  readonly pool: PoolMetrics;
  /** Undefined if the device does not time copies and launches separately. */
  readonly overlap: (Overlap & { readonly ratio: number }) | undefined;
}

/** `records` are the device's retained records; `hasAllRecords` means that none was dropped. */
export function deviceReport(
  figures: DeviceMetrics,
  records: readonly Readonly<ChunkRecord>[],
  {
    seconds,
    cpuSeconds,
    hasAllRecords,
  }: { readonly seconds: number; readonly cpuSeconds: number; readonly hasAllRecords: boolean },
): DeviceReport {
  const { status, tally, telemetry, joules } = figures;
  const { fed } = status;
  const items = Number(tally.items);
  const inDriver = driverCallsNs(telemetry);
  const busy = hasAllRecords || fed === undefined ? lengthOf(union(records.filter(hasRun))) / 1e9 : fed * seconds;
  return {
    device: status.info.id,
    seconds,
    busySeconds: busy,
    fed,
    items: tally.items,
    perSecond: items / seconds,
    chunks: Object.fromEntries(tally.outcomes),
    partialChunks: tally.partial,
    depths: Array.from(tally.depths, (chunks = 0) => chunks),
    occupancy: status.occupancy,
    times: Object.fromEntries(Object.entries(tally.ns).map(([name, ns]) => [`${name}Seconds`, ns / 1e9])),
    bytesToDevice: tally.bytesToDevice,
    bytesToHost: tally.bytesToHost,
    launches: telemetry?.launches,
    polls: telemetry?.polls,
    blockingWaits: telemetry?.blockingWaits,
    blockedSeconds: telemetry && telemetry.blockedNs / 1e9,
    blockingShare: telemetry && inDriver !== undefined ? telemetry.blockedNs / Math.max(1, inDriver) : undefined,
    cpuSeconds,
    joules: joules > 0 ? joules : undefined,
    itemsPerJoule: joules > 0 ? items / joules : undefined,
    pool: poolMetrics(
      records.map(({ free }) => free),
      records.filter(({ starvedNs }) => starvedNs > 0n).map(({ starvedNs }) => Number(starvedNs)),
    ),
    overlap: overlapOfRecords(records),
  };
}

const hasRun = ({ endedNs }: ChunkRecord): boolean => endedNs > 0n;

/** Computes the overlap from the times of copies and launches, and the mean of the ratio that upstream calls overlap. */
function overlapOfRecords(records: readonly Readonly<ChunkRecord>[]): DeviceReport['overlap'] {
  const phases = records.flatMap((record) => phasesOf(record) ?? []);
  if (phases.length === 0) return undefined;
  const ratios = phases.map(({ copies, compute }) => lengthRatio(lengthOf(copies), lengthOf([compute])));
  const ratio = ratios.reduce((sum, one) => sum + one, 0) / ratios.length;
  const copies: Span[] = phases.flatMap((phase) => phase.copies);
  return {
    ...overlapOf(
      copies,
      phases.map(({ compute }) => compute),
    ),
    ratio,
  };
}

/** The summary lines of `--metrics`. */
export function summaryLines(report: DeviceReport, unit: string): string[] {
  const { device, seconds, busySeconds, fed, items, perSecond, itemsPerJoule } = report;
  const { launches, polls, blockingWaits, blockingShare, cpuSeconds, bytesToDevice, bytesToHost } = report;
  const share = fed === undefined ? '' : ` (fed ${percent(fed)})`;
  const work = `${count(items)} tried, ${rate(perSecond, unit)}`;
  const energy = itemsPerJoule === undefined ? [] : [`${scaled(itemsPerJoule)}${unit || 'items'}/J`];
  const driver = [
    ...(launches === undefined ? [] : [plural(launches, 'launch', 'launches')]),
    ...(polls === undefined ? [] : [plural(polls, 'poll')]),
    ...(blockingWaits === undefined ? [] : [plural(blockingWaits, 'blocking wait')]),
    ...(blockingShare === undefined ? [] : [`${percent(blockingShare)} of the time in the driver`]),
    `${bytes(bytesToDevice)} to the device, ${bytes(bytesToHost)} back`,
    `${duration(cpuSeconds)} of CPU time`,
  ];
  return [
    [`${device}  ${duration(seconds)}, busy ${duration(busySeconds)}${share}`, work, ...energy].join(', '),
    `${' '.repeat(device.length)}  ${driver.join(', ')}`,
  ];
}

/** The lines of `--pool-metrics`; `warning` is set if a larger pool would help. */
export function poolLines({ device, pool }: Pick<DeviceReport, 'device' | 'pool'>): {
  readonly lines: string[];
  readonly warning?: string;
} {
  const { min, max, acquires, waits, starvation, averageWaitNs } = pool;
  const free = min === undefined ? 'none taken' : `${min} to ${max} free`;
  const counts = `${plural(acquires, 'acquire')}, ${plural(waits, 'wait')}, ${percent(starvation)} starved`;
  const lines = [`${device}  slots: ${free}, ${counts}`];
  if (averageWaitNs > 0) lines.push(`${device}  slots: ${(averageWaitNs / 1e6).toFixed(3)} ms average wait`);
  if (starvation <= MAX_STARVATION) return { lines };
  return { lines, warning: `${device} waited for a slot in ${percent(starvation)} of all cases: raise --slots` };
}

/** A hidden share below this is worth a warning if copies take a notable share of the time. */
const MIN_HIDDEN_SHARE = 0.6;
const MIN_COPY_SHARE = 0.05;

/** The lines of `--overlap`. */
export function overlapLines({ device, overlap }: DeviceReport): {
  readonly lines: string[];
  readonly warning?: string;
} {
  if (!overlap) return { lines: [`${device}  does not time copies and launches separately`] };
  const { copyNs, computeNs, hidden, copyBusy, computeBusy, ratio } = overlap;
  const shorter = copyNs <= computeNs ? 'copies' : 'launches';
  const lines = [
    `${device}  overlap: ${percent(hidden)} of the ${shorter} hidden (copies ${duration(copyNs / 1e9)}, launches ${duration(computeNs / 1e9)})`,
    `${device}  busy: copies ${percent(copyBusy)}, launches ${percent(computeBusy)} of the time; ratio of lengths ${percent(ratio)}`,
  ];
  if (hidden >= MIN_HIDDEN_SHARE || copyBusy < MIN_COPY_SHARE) return { lines };
  return {
    lines,
    warning: `only ${percent(hidden)} of the ${shorter} on ${device} are hidden: raise --slots or --streams`,
  };
}
