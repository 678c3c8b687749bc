import { expect, it } from 'vitest';
import { recordOf } from '../../test/telemetry/records.js';
import { middleChunks } from './timeline.js';

it('takes chunks from the middle of a job, in microseconds from the first start', () => {
  const record = (k: number) => {
    const startedNs = BigInt(1_000_000 * k + 5000);
    const times = { submittedNs: startedNs - 900_000n, startedNs, endedNs: startedNs + 1_000_000n };
    return recordOf({ stream: k % 2, slot: 0, ...times, reapedNs: times.endedNs + 50_000n, outcome: 'counted' });
  };
  const chunks = middleChunks(Array.from({ length: 40 }, (_, k) => record(k + 1)));
  expect(chunks).toHaveLength(16);
  expect(chunks[3]).toEqual({ slot: 0, submitted: 2100, started: 3000, ended: 4000, reaped: 4050 });
});
