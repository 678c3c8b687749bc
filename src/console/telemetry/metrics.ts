import { phasesOf } from '../../engine/telemetry/overlap.js';
import type { ChunkRecord } from '../../engine/telemetry/record.js';

/**
 * `pipeline_metrics.csv`: one row per chunk that counts, so that the lengths of a job's rows add up to the indices tried.
 * Times are microseconds since the start, to the nanosecond.
 */
export const METRICS_HEADER =
  'seq,block,context,chunk_start,chunk_len,enqueue_us,launch_us,complete_us,queue_us,kernel_us,active,busy,' +
  'wait_rounds,chunk_policy,blocking_waits,blocking_us,occupancy_pct';

/** Returns undefined if no index of the chunk counts. */
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

/** Quotes a field as in RFC 4180. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** `1234.567`, exact: differences of written values equal the measured ones. */
function microseconds(ns: bigint): string {
  const digits = (ns < 0n ? -ns : ns).toString().padStart(4, '0');
  return `${ns < 0n ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`;
}
