import { expect, test } from 'vitest';
import { recordOf } from '../../../test/telemetry/records.js';
import { METRICS_HEADER, metricsRow } from './metrics.js';

test('the header has the fields of pipeline_metrics.csv, in order', () => {
  expect(METRICS_HEADER).toBe(
    'seq,block,context,chunk_start,chunk_len,enqueue_us,launch_us,complete_us,queue_us,kernel_us,active,busy,wait_rounds,chunk_policy,blocking_waits,blocking_us,occupancy_pct',
  );
});

test('a row describes a chunk on a GPU', () => {
  const record = recordOf({
    from: 5,
    sequence: 7,
    stream: 1,
    slot: 2,
    start: 3n << 40n,
    count: 4096,
    policy: 'double',
    waitRounds: 3,
    streams: 2,
    busy: 5,
    blockingWaits: 1,
    blockedNs: 1234.6,
    occupancy: 0.75,
  });
  // Enqueued 15 µs after 0, launched at 25, on the device from 55 to 995 without copies, noticed at 1015.
  expect(metricsRow(record, 0n)).toBe(
    '7,block 1,cuda:0/1.2,3298534883328,4096,15.000,25.000,1015.000,10.000,940.000,2,5,3,double,1,1.235,75.0',
  );
});

test('times are relative to the origin, to the nanosecond', () => {
  const times = { enqueuedNs: 1_000_000_001n, launchedNs: 1_000_000_050n, noticedNs: 9_007_199_254_740_993n };
  const row = metricsRow(recordOf({ ...times, computeStartedNs: 0n, startedNs: 7n, endedNs: 8n }), 1_000_000_000n);
  expect(row?.split(',').slice(5, 10)).toEqual(['0.001', '0.050', '9007198254740.993', '0.049', '0.001']);
});

test('a chunk that does not count has no row; a partly duplicated one has its counted items', () => {
  expect(metricsRow(recordOf({ outcome: 'cancelled' }), 0n)).toBeUndefined();
  expect(metricsRow(recordOf({ outcome: 'duplicate' }), 0n)).toBeUndefined();
  expect(metricsRow(recordOf({ count: 1000, counted: 300 }), 0n)?.split(',')[4]).toBe('300');
});

test('names with commas and quotes are quoted', () => {
  expect(metricsRow(recordOf({ job: 'a "b", c' }), 0n)).toMatch(/^0,"a ""b"", c",cuda:0\/0\.0,/);
});
