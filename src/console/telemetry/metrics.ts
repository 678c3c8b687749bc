import { phasesOf } from '../../engine/telemetry/overlap.js';
import type { ChunkRecord } from '../../engine/telemetry/record.js';

/**
 * `pipeline_metrics.csv`: one row for each chunk that counts, so that the lengths of a job's rows add up to what it has
 * tried. Times are microseconds since the beginning, to the nanosecond.
 */
export const METRICS_HEADER =
  'seq,block,context,chunk_start,chunk_len,enqueue_us,launch_us,complete_us,queue_us,kernel_us,active,busy,' +
  'wait_rounds,chunk_policy,blocking_waits,blocking_us,occupancy_pct';

/** Undefined for a chunk of which nothing counts. */
export function metricsRow(record: Readonly<ChunkRecord>, originNs: bigint): string | undefined {
  if (record.counted === 0) return undefined;
  const { enqueuedNs, launchedNs, noticedNs } = record;
  const { compute } = phasesOf(record) ?? { compute: record };
  return [
    record.sequence,
    quoted(record.job),
    quoted(`${record.device}/${record.stream}.${record.slot}`),
    record.start,
    record.counted,
    microseconds(enqueuedNs - originNs),
    microseconds(launchedNs - originNs),
    microseconds(noticedNs - originNs),
    microseconds(launchedNs - enqueuedNs),
    microseconds(compute.endedNs - compute.startedNs),
    record.streams,
    record.busy,
    record.waitRounds,
    record.policy,
    record.blockingWaits,
    microseconds(BigInt(Math.round(record.blockedNs))),
    record.occupancy === undefined ? '' : (100 * record.occupancy).toFixed(1),
  ].join(',');
}

/** As RFC 4180 has it. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** `1234.567`, exactly: differences of what is written are what was measured. */
function microseconds(ns: bigint): string {
  const digits = (ns < 0n ? -ns : ns).toString().padStart(4, '0');
  return `${ns < 0n ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`;
}
