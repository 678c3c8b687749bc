import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  backOffUs,
  combineKind,
  ExpectedTimes,
  maxIdleRounds,
  nextPollDelayUs,
  pollDelayAfterRelief,
  pollIntervalUs,
} from './poll.js';

describe('the limit of idle rounds', () => {
  test('is twice the last kernel in polls, per active line, within bounds', () => {
    expect(maxIdleRounds(5000, 50, 1)).toBe(200);
    expect(maxIdleRounds(5000, 50, 4)).toBe(800);
    expect(maxIdleRounds(5001, 100, 1)).toBe(101);
    expect(maxIdleRounds(5000, 50, 0)).toBe(200);
    expect(maxIdleRounds(0, 50, 6)).toBe(16);
    expect(maxIdleRounds(1e9, 50, 1)).toBe(65_536);
  });

  test('grows with the kernel time and with the active lines', () => {
    const us = fc.double({ min: 0, max: 1e7, noNaN: true });
    fc.assert(
      fc.property(us, us, fc.integer({ min: 0, max: 64 }), fc.integer({ min: 0, max: 64 }), (a, b, m, n) => {
        const [short, long] = a < b ? [a, b] : [b, a];
        const [few, many] = m < n ? [m, n] : [n, m];
        return (
          maxIdleRounds(short, 50, few) <= maxIdleRounds(long, 50, few) &&
          maxIdleRounds(long, 50, few) <= maxIdleRounds(long, 50, many)
        );
      }),
    );
  });
});

test('back-off doubles from 20 µs to 2 ms', () => {
  expect([0, 1, 2, 6, 7, 60].map(backOffUs)).toEqual([20, 40, 80, 1280, 2000, 2000]);
});

describe('the poll delay', () => {
  test('after relief lasts until half the expected time, and is never zero', () => {
    expect(pollDelayAfterRelief(0, 2000)).toBe(900);
    expect(pollDelayAfterRelief(1500, 2000)).toBe(100);
    expect(pollDelayAfterRelief(900 - 1e-10, 2000)).toBe(100); // a sleep too short for the clock would repeat forever
    expect(pollDelayAfterRelief(0, undefined)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is nine tenths of the expected time, then steps, the shortest around the end', () => {
    expect(nextPollDelayUs(0, 50_000, 0)).toBe(45_000);
    expect(nextPollDelayUs(20_000, 50_000, 3)).toBe(25_000);
    expect(nextPollDelayUs(45_000, 50_000, 1)).toBe(100);
    expect(nextPollDelayUs(49_750, 50_000, 9)).toBe(50);
    expect([49_800, 50_000, 50_199].map((us) => nextPollDelayUs(us, 50_000, 9))).toEqual([5, 5, 5]);
    expect(nextPollDelayUs(50_200, 50_000, 9)).toBe(50);
    expect(nextPollDelayUs(500_000, 110_000, 5)).toBe(110);
    expect(nextPollDelayUs(700, 300, 2)).toBe(50);
    expect([0, 5000, 120_000, 1e6, undefined].map(pollIntervalUs)).toEqual([50, 50, 120, 200, 50]);
  });

  test('is short for quick work, but not for long', () => {
    expect(nextPollDelayUs(0, 0.5, 0)).toBeCloseTo(0.45);
    expect(nextPollDelayUs(0, 20, 0)).toBe(18);
    expect(nextPollDelayUs(19, 20, 1)).toBe(5);
    expect(nextPollDelayUs(290, 300, 1)).toBe(30);
    expect(nextPollDelayUs(41, 20, 3)).toBe(50);
  });

  test('backs off if no time is known', () => {
    expect([0, 1, 2, 20].map((looks) => nextPollDelayUs(1e5, undefined, looks))).toEqual([20, 40, 80, 2000]);
  });
});

describe('expectations', () => {
  test('follow measurements, and fall fast if the work ended before the first poll', () => {
    const expected = new ExpectedTimes();
    expect(expected.of(1)).toBeUndefined();
    expected.learn(1, 1000, false);
    expected.learn(1, 2000, false);
    expect(expected.of(1)).toBe(1500);
    expected.learn(1, 1350, true);
    expect(expected.of(1)).toBeCloseTo(945);
    expect(expected.of(2)).toBeUndefined();
  });

  test('adapt within a few marks to a kernel that became five times as fast', () => {
    const expected = new ExpectedTimes();
    expected.learn(1, 50_000, false);
    let marks = 0;
    for (const real = 10_000; Math.abs((expected.of(1) ?? 0) - real) > real * 0.2; marks++) {
      const look = nextPollDelayUs(0, expected.of(1), 0);
      expected.learn(1, Math.max(look, real), look >= real);
    }
    expect(marks).toBeLessThan(8);
  });

  test('are limited in number', () => {
    const expected = new ExpectedTimes();
    for (let kind = 0; kind < 5000; kind++) expected.learn(kind, 10, false);
    expect([...Array(5000).keys()].filter((kind) => expected.of(kind) !== undefined).length).toBeLessThanOrEqual(1024);
    expect(expected.of(4999)).toBe(10);
  });

  test('tell kinds of work apart by program, order and rough size', () => {
    const kind = combineKind(0, 7, 1000);
    expect(combineKind(0, 7, 1020)).toBe(kind);
    expect(combineKind(0, 8, 1000)).not.toBe(kind);
    expect(combineKind(0, 7, 5000)).not.toBe(kind);
    expect(combineKind(kind, 8, 64)).not.toBe(combineKind(combineKind(0, 8, 64), 7, 1000));
    expect(combineKind(0, 7, 2 ** 40)).not.toBe(combineKind(0, 7, 2 ** 8));
  });
});
