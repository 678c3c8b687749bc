import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addBusy,
  addPause,
  busyShare,
  countIndices,
  measure,
  NO_AVERAGE,
  NO_THROUGHPUT,
  observe,
  type RateMeter,
  rateOver,
  rateOverall,
  startBusyTime,
  startRateMeter,
  WINDOWS_MS,
} from './throughput.js';

describe('averages', () => {
  test('start with the first sample, then weight each new one by a fifth', () => {
    const values: (number | undefined)[] = [];
    let average = NO_AVERAGE;
    for (const sample of [1e6, 2e6, 1e6]) {
      average = observe(average, sample);
      values.push(average.value);
    }
    expect(values[0]).toBe(1e6);
    expect(values[1]).toBeCloseTo(1.2e6, 3);
    expect(values[2]).toBeCloseTo(1.16e6, 3);
    expect(average.samples).toBe(3);
  });

  test('ignore samples that are not finite', () => {
    const average = observe(NO_AVERAGE, 5);
    for (const sample of [Number.NaN, Number.POSITIVE_INFINITY, 0 / 0, 1 / 0])
      expect(observe(average, sample)).toEqual(average);
  });
});

describe('throughput', () => {
  test('is undefined until measured, and ignores empty and invalid samples', () => {
    expect(measure(NO_THROUGHPUT, 0, 0)).toEqual(NO_THROUGHPUT);
    expect(measure(NO_THROUGHPUT, 5, -1)).toEqual(NO_THROUGHPUT);
    expect(measure(NO_THROUGHPUT, 5, Number.NaN)).toEqual(NO_THROUGHPUT);
    expect(measure(NO_THROUGHPUT, 100, 2).perMs.value).toBe(50);
  });

  test('measures chunks together that end at the same instant, or under a clock of whole milliseconds', () => {
    // Two streams: pairs of 500 items end together every 10 ms.
    let throughput = NO_THROUGHPUT;
    for (let pair = 0; pair < 40; pair++) throughput = measure(measure(throughput, 500, 10), 500, 0);
    expect(throughput.perMs.value).toBeGreaterThan(95);
    expect(throughput.perMs.value).toBeLessThan(105);
    // And where the second of each pair ends a little later.
    let uneven = NO_THROUGHPUT;
    for (let pair = 0; pair < 40; pair++) {
      uneven = measure(measure(uneven, 5_000_000, 9999), 5_000_000, 1);
      expect(uneven.perMs.value).toBeGreaterThan(450);
      expect(uneven.perMs.value).toBeLessThan(1300);
    }
    // Chunks of 0.3 ms: the clock says 0, 0, 0, 1, 0, 0, 1 …
    let coarse = NO_THROUGHPUT;
    for (let chunk = 0; chunk < 1000; chunk++) {
      coarse = measure(coarse, 30, Math.floor((chunk + 1) * 0.3) - Math.floor(chunk * 0.3));
    }
    expect(coarse.perMs.value).toBeGreaterThan(85);
    expect(coarse.perMs.value).toBeLessThan(115);
  });
});

describe('rates over windows', () => {
  const run = (meter: RateMeter, fromMs: number, toMs: number, stepMs: number, perStep: bigint): RateMeter => {
    let state = meter;
    for (let nowMs = fromMs + stepMs; nowMs <= toMs; nowMs += stepMs) state = countIndices(state, nowMs, perStep);
    return state;
  };

  test('are unknown until the window is full', () => {
    const meter = run(startRateMeter(0), 0, 9990, 10, 100n);
    expect(rateOver(meter, 9990, WINDOWS_MS.tenSeconds)).toBeUndefined();
    const later = countIndices(meter, 10_000, 100n);
    expect(rateOver(later, 10_000, WINDOWS_MS.tenSeconds)).toBeCloseTo(10_000, 6);
    expect(rateOver(later, 10_000, WINDOWS_MS.minute)).toBeUndefined();
    expect(rateOverall(later, 0, 10_000)).toBeCloseTo(10_000, 6);
    expect(rateOverall(startRateMeter(0), 0, 0)).toBeUndefined();
  });

  test('follow a change within their window and forget older counts', () => {
    let meter = run(startRateMeter(0), 0, 60_000, 20, 200n); // 10,000/s
    meter = run(meter, 60_000, 90_000, 20, 20n); // 1,000/s
    expect(rateOver(meter, 90_000, WINDOWS_MS.tenSeconds)).toBeCloseTo(1000, 6);
    expect(rateOver(meter, 90_000, WINDOWS_MS.minute)).toBeCloseTo(5500, 0);
    // No more work is done.
    expect(rateOver(meter, 95_000, WINDOWS_MS.tenSeconds)).toBeCloseTo(500, 0);
    expect(rateOver(meter, 120_000, WINDOWS_MS.tenSeconds)).toBe(0);
  });

  test('keep an hour of work in under 2,000 samples; counts beyond 2^53 are exact', () => {
    let meter = startRateMeter(0);
    for (let nowMs = 700; nowMs <= 4_000_000; nowMs += 700) meter = countIndices(meter, nowMs, 1n << 60n);
    expect(meter.samples.length).toBeLessThan(2000);
    expect(rateOver(meter, 4_000_000, WINDOWS_MS.quarterHour)! / (2 ** 60 / 0.7)).toBeCloseTo(1, 2);
    expect(meter.samples.at(-1)!.total).toBe(5714n << 60n);
  });

  test('agree with a plain count of the events in the window', () => {
    const event = fc.record({ afterMs: fc.integer({ min: 0, max: 3000 }), indices: fc.nat(10_000) });
    fc.assert(
      fc.property(fc.array(event, { minLength: 20, maxLength: 60 }), (events) => {
        let meter = startRateMeter(0);
        let nowMs = 0;
        const log: { atMs: number; indices: number }[] = [];
        for (const { afterMs, indices } of events) {
          nowMs += afterMs;
          meter = countIndices(meter, nowMs, BigInt(indices));
          log.push({ atMs: nowMs, indices });
        }
        const rate = rateOver(meter, nowMs, WINDOWS_MS.tenSeconds);
        if (nowMs < 10_000) expect(rate).toBeUndefined();
        else {
          // Samples are half a second apart and events up to three: those near the window's edge may be in or out.
          const within = (ms: number) =>
            log.filter(({ atMs }) => atMs > nowMs - ms).reduce((sum, { indices }) => sum + indices, 0);
          expect(rate! * 10).toBeGreaterThanOrEqual(within(6400) - 1);
          expect(rate! * 10).toBeLessThanOrEqual(within(13_600) + 1);
        }
      }),
    );
  });
});

describe('the busy share', () => {
  const ms = (value: number): bigint => BigInt(value) * 1_000_000n;

  test('is the union of times, reported in any order', () => {
    let busy = startBusyTime(0n);
    for (const [from, to] of [
      [10, 20],
      [50, 60],
      [0, 80], // a long chunk of another stream, reported last
      [90, 100],
    ] as const) {
      busy = addBusy(busy, ms(from), ms(to));
    }
    expect(busyShare(busy, ms(100))).toBeCloseTo(0.9, 12);
    expect(busyShare(busy, ms(200))).toBeCloseTo(0.45, 12);
    expect(busyShare(busy, ms(100), ms(20))).toBeCloseTo(0.5, 12);
    expect(busyShare(busy, ms(100), ms(200))).toBeUndefined();
    expect(busyShare(startBusyTime(5n), 5n)).toBeUndefined();
  });

  test('is exact over hours, in constant memory', () => {
    let busy = startBusyTime(0n);
    for (let second = 0; second < 20_000; second++) busy = addBusy(busy, ms(second * 1000), ms(second * 1000 + 990));
    expect(busyShare(busy, ms(20_000_000))).toBeCloseTo(0.99, 9);
    expect(busyShare(busy, ms(20_000_000), ms(900_000))).toBeCloseTo(0.99, 9);
    expect(busy.recent.count).toBeLessThan(1200);
  });

  test('does not count a pause, but counts a chunk in flight when it began', () => {
    // Busy 0 to 40, paused from 30 to 80, idle 80 to 90, busy to 100.
    const busy = addPause(addBusy(addBusy(startBusyTime(0n), 0n, ms(40)), ms(90), ms(100)), ms(30), ms(80));
    expect(busyShare(busy, ms(100))).toBeCloseTo(50 / 60, 12);
    expect(busyShare(busy, ms(100), ms(50))).toBeCloseTo(10 / 20, 12);
    expect(busyShare(addPause(startBusyTime(0n), 0n, ms(10)), ms(10))).toBeUndefined();
    expect(busyShare(addPause(busy, ms(100), ms(200)), ms(200), ms(50))).toBeUndefined();
  });

  test('is exact over hours of pauses, in constant memory', () => {
    let busy = startBusyTime(0n);
    for (let second = 0; second < 20_000; second += 2) {
      busy = addBusy(busy, ms(second * 1000), ms(second * 1000 + 900));
      busy = addPause(busy, ms(second * 1000 + 1000), ms(second * 1000 + 2000));
    }
    expect(busyShare(busy, ms(20_000_000))).toBeCloseTo(0.9, 9);
    expect(busy.pauses.count).toBeLessThan(1200);
  });
});
