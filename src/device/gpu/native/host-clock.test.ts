import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HostClock } from './host-clock.js';

test('times lie within the interval the host saw and keep their duration', () => {
  const ns = (max: number) => fc.integer({ min: 0, max }).map(BigInt);
  const mark = fc.record({ wait: ns(1e6), run: ns(1e9), notice: ns(1e6), drift: fc.integer({ min: -500, max: 500 }) });
  fc.assert(
    fc.property(fc.array(mark, { minLength: 1, maxLength: 30 }), ns(2 ** 50), (marks, zero) => {
      const clock = new HostClock();
      let host = 1_000_000_000n;
      let device = zero;
      for (const { wait, run, notice, drift } of marks) {
        const sentNs = host;
        const started = device + wait;
        const ended = started + run;
        const doneNs = host + wait + run + notice;
        const times = clock.times(started, ended, { sentNs, doneNs });
        expect(times.endedNs - times.startedNs).toBe(run);
        expect(times.endedNs).toBeLessThanOrEqual(doneNs);
        expect(times.startedNs).toBeGreaterThanOrEqual(sentNs);
        host = doneNs;
        device = ended + notice + BigInt(drift);
      }
    }),
  );
});

test('a clock keeps an exact offset when later intervals are wider', () => {
  const clock = new HostClock();
  clock.times(100n, 110n, { sentNs: 1100n, doneNs: 1110n }); // 1000 ahead, to the nanosecond
  expect(clock.times(500n, 600n, { sentNs: 1000n, doneNs: 9000n })).toEqual({ startedNs: 1500n, endedNs: 1600n });
});

test('times never lie after the moment the host saw the work done', () => {
  const clock = new HostClock();
  clock.times(0n, 0n, { sentNs: 0n, doneNs: 0n });
  expect(clock.times(90n, 180n, { sentNs: 100n, doneNs: 200n })).toEqual({ startedNs: 100n, endedNs: 190n });
  expect(clock.times(140n, 220n, { sentNs: 100n, doneNs: 200n })).toEqual({ startedNs: 120n, endedNs: 200n });
  // Longer than the host's interval, by rounding.
  expect(clock.times(90n, 195n, { sentNs: 100n, doneNs: 200n }).endedNs).toBeLessThanOrEqual(200n);
});
