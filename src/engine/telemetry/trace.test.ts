import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordOf } from '../../../test/telemetry/records.js';
import { checkTrace } from '../../../test/telemetry/trace-format.js';
import { byTier } from '../../../test/tier.js';
import type { ChunkRecord } from './record.js';
import { type TraceEvent, traceEvents } from './trace.js';

const devices = [{ id: 'cuda:0', name: 'A GPU' }];

/** The events, written as a file and read again. */
function traced(records: readonly ChunkRecord[], samples: Parameters<typeof traceEvents>[0]['samples'] = []) {
  const events = [...traceEvents({ records, devices, samples, originNs: 0n })];
  return checkTrace(JSON.stringify({ displayTimeUnit: 'ms', otherData: {}, traceEvents: events })).events;
}

const named = (events: readonly TraceEvent[], ph: string, name: string) =>
  events.filter((event) => event.ph === ph && event.name === name);

describe('a trace', () => {
  test('has all events of one chunk', () => {
    const events = traced([recordOf()], [{ device: 'cuda:0', atNs: 500_000n, temperatureC: 61, powerW: 640.5 }]);
    const brief = events.map(({ ph, name, pid, tid, ts, dur, id, args }) =>
      [ph, name, pid, tid, ts, dur, id, args?.name ?? args?.value ?? args?.sort_index]
        .filter((x) => x !== undefined)
        .join(' '),
    );
    expect(brief).toEqual([
      'M process_name 1 millrace',
      'M process_sort_index 1 1',
      'M process_name 2 cuda:0 A GPU',
      'M process_sort_index 2 2',
      // The chunk in its slot.
      'X block 1 0 2 101 10 1020',
      'X queued 2 101 10 10',
      'X waits 2 101 20 20',
      'X runs 2 101 40 960',
      'X unseen 2 101 1000 10',
      'X reap 2 101 1010 20',
      // Work of the host and of the device.
      'X block 1 0 1 1 10 15',
      'X block 1 0 2 1 40 960',
      'X copy 2 1 40 10',
      'X kernel 2 1 50 940',
      'X copy 2 1 990 10',
      'X block 1 0 1 1001 1010 20',
      'X block 1 0 1 2001 1030 5',
      'X block 1 0 1 3001 1035 5',
      's chunk 1 1 10 1',
      't chunk 2 1 40 1',
      't chunk 1 1001 1010 1',
      't chunk 1 2001 1030 1',
      'f chunk 1 3001 1035 1',
      'M thread_name 1 1 submit',
      'M thread_sort_index 1 1 1',
      'M thread_name 1 1001 reap',
      'M thread_sort_index 1 1001 1001',
      'M thread_name 1 2001 verify',
      'M thread_sort_index 1 2001 2001',
      'M thread_name 1 3001 commit',
      'M thread_sort_index 1 3001 3001',
      'M thread_name 2 101 stream 0 slot 0',
      'M thread_sort_index 2 101 101',
      'M thread_name 2 1 stream 0',
      'M thread_sort_index 2 1 1',
      'C queue depth 2 10 1',
      'C queue depth 2 1010 0',
      // 1000 items in the 960 µs that it ran.
      'C fed % 2 40 100',
      expect.stringMatching(/^C rate \(items\/s\) 2 40 1041666\.6/),
      'C fed % 2 1000 0',
      'C rate (items/s) 2 1000 0',
      'C temperature (°C) 2 500 61',
      'C power (W) 2 500 640.5',
    ]);
  });

  test('has no device work before its launch, whatever the device clock says', () => {
    const wrong = recordOf({
      launchedNs: 20_000n,
      startedNs: 3_000n,
      computeStartedNs: 4_000n,
      computeEndedNs: 30_000n,
    });
    const [, slice] = named(traced([wrong]), 'X', 'block 1 0').filter(({ pid }) => pid === 2);
    expect(slice).toMatchObject({ ts: 20, dur: 980 });
    const late = recordOf({ startedNs: 40_000n, endedNs: 2_000_000n });
    const steps = named(traced([late]), 's', 'chunk').concat(named(traced([late]), 't', 'chunk'));
    expect(steps.map(({ ts }) => ts)).toEqual([10, 40, 2000, 2000.001]);
  });

  test('shows stopped, failed and dropped chunks as far as they got', () => {
    const never = { noticedNs: 0n, reapedNs: 0n, verifiedNs: 0n, committedNs: 0n };
    const stopped = recordOf({ sequence: 1, outcome: 'cancelled', ...never, noticedNs: 1_010_000n });
    const failed = recordOf({ sequence: 2, outcome: 'failed', from: 2000, ...never, startedNs: 0n, endedNs: 0n });
    const refused = recordOf({ sequence: 3, outcome: 'failed', from: 2000, ...never, submittedNs: 0n });
    const events = traced([stopped, failed, refused]);
    expect(named(events, 'X', 'block 1 1')).toHaveLength(3);
    expect(named(events, 'X', 'block 1 2')).toHaveLength(1);
    expect(named(events, 'X', 'block 1 3')).toHaveLength(0);
    expect(named(events, 's', 'chunk').map(({ id }) => id)).toEqual([2]);
  });

  test('has overlapping checks on separate tracks', () => {
    const first = recordOf({ sequence: 0, verifiedNs: 5_000_000n, committedNs: 5_000_100n });
    const second = recordOf({ sequence: 1, from: 1100, slot: 1, verifiedNs: 5_500_000n, committedNs: 5_500_100n });
    const names = named(traced([first, second]), 'M', 'thread_name').map(({ args }) => args?.name);
    expect(names).toEqual([
      'submit',
      'reap',
      'verify',
      'verify (2)',
      'commit',
      'stream 0 slot 0',
      'stream 0 slot 1',
      'stream 0',
    ]);
  });

  test('has counters fed % and rate that match the work done', () => {
    // Two streams for one second: both run a chunk of 100 ms at the same time, then idle for 100 ms.
    const chunk = (k: number, stream: number, from: number) =>
      recordOf({
        sequence: k,
        stream,
        count: 50_000,
        enqueuedNs: BigInt(from) * 1_000_000n,
        submittedNs: BigInt(from) * 1_000_000n + 1000n,
        launchedNs: BigInt(from) * 1_000_000n,
        startedNs: BigInt(from) * 1_000_000n,
        computeStartedNs: 0n,
        endedNs: BigInt(from + 100) * 1_000_000n,
        noticedNs: BigInt(from + 100) * 1_000_000n,
        reapedNs: BigInt(from + 100) * 1_000_000n,
        verifiedNs: BigInt(from + 100) * 1_000_000n,
        committedNs: BigInt(from + 100) * 1_000_000n,
      });
    const records = [0, 1, 2, 3, 4].flatMap((k) => [chunk(2 * k, 0, 200 * k), chunk(2 * k + 1, 1, 200 * k)]);
    const events = traced(records);
    const values = (name: string) => named(events, 'C', name).map(({ args }) => args?.value as number);
    const rates = values('rate (items/s)');
    // Intervals of 10 ms: they add up to the work done, and half of them are empty.
    expect(rates.reduce((sum, rate) => sum + rate * 0.01, 0)).toBeCloseTo(500_000, 3);
    expect(new Set(values('fed %'))).toEqual(new Set([100, 0]));
    expect(Math.max(...values('queue depth'))).toBe(2);
    expect(values('queue depth').at(-1)).toBe(0);
  });

  test('has a valid format for any chunks', () => {
    const delay = fc.integer({ min: 0, max: 50_000 });
    const outcome = fc.constantFrom('counted', 'cancelled', 'wrong', 'dropped', 'audit', 'failed') as fc.Arbitrary<
      NonNullable<ChunkRecord['outcome']>
    >;
    const chunks = fc.array(
      fc.record({
        stream: fc.integer({ min: 0, max: 2 }),
        delays: fc.array(delay, { minLength: 9, maxLength: 9 }),
        outcome,
        skew: fc.integer({ min: -30_000, max: 30_000 }),
      }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(chunks, (given) => {
        // Each stream has one slot here, which is reused when it is free.
        const free = [0, 0, 0];
        const records = given.map(({ stream, delays, outcome: ended, skew }, sequence) => {
          let at = (free[stream] ?? 0) + 1;
          const [
            enqueuedNs,
            submittedNs,
            launchedNs,
            startedNs,
            endedNs,
            noticedNs,
            reapedNs,
            verifiedNs,
            committedNs,
          ] = delays.map((ns) => {
            at += ns;
            return BigInt(at);
          });
          free[stream] = Number(reapedNs);
          // The device's clock is off by `skew`.
          const off = (ns: bigint | undefined) => (ns! + BigInt(skew) > 1n ? ns! + BigInt(skew) : 1n);
          const isOver = ended === 'counted' || ended === 'audit';
          return recordOf({
            sequence,
            stream,
            outcome: ended,
            enqueuedNs: enqueuedNs!,
            submittedNs: submittedNs! + 1n,
            launchedNs: launchedNs!,
            startedNs: ended === 'failed' ? 0n : off(startedNs),
            computeStartedNs: 0n,
            endedNs: ended === 'failed' ? 0n : off(endedNs) < reapedNs! ? off(endedNs) : reapedNs!,
            noticedNs: noticedNs!,
            reapedNs: isOver || ended === 'wrong' ? reapedNs! : 0n,
            verifiedNs: isOver ? verifiedNs! : 0n,
            committedNs: ended === 'counted' ? committedNs! : 0n,
          });
        });
        for (const event of traced(records)) if (event.ph === 'X') expect(event.dur).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: byTier(40, 200) },
    );
  });
});

test('the checker rejects an invalid trace', () => {
  const good = [...traceEvents({ records: [recordOf()], devices, samples: [], originNs: 0n })];
  const check = (events: readonly object[]) =>
    checkTrace(JSON.stringify({ displayTimeUnit: 'ms', traceEvents: events }));
  expect(() => check(good)).not.toThrow();
  expect(() => check([...good, { ph: 'X', name: 'x', pid: 2, tid: 1, ts: 30, dur: 20 }])).toThrow('crosses');
  expect(() => check([...good, { ph: 'X', name: 'x', pid: 9, tid: 1, ts: 1, dur: 1 }])).toThrow('has a name');
  expect(() => check([...good, { ph: 's', name: 'x', cat: 'c', pid: 1, tid: 1, ts: 10, id: 5 }])).toThrow('flow 5');
  expect(() => check([...good, { ph: 'C', name: 'x', pid: 1, ts: 1, args: { value: 'y' } }])).toThrow('counter x');
  expect(() => check(good.filter(({ ph }) => ph !== 'f'))).toThrow('one f');
  expect(() => check([...good, { ph: 'X', name: 'x', pid: 2, tid: 1, ts: -1, dur: 1 }])).toThrow('ts -1');
});
