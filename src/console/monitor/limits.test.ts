import { describe, expect, it } from 'vitest';
import { FULL_BUDGET, type LimitPause, NOT_PAUSED, nextPause, spend, threadsWithin } from './limits.js';

describe('a device that gets hot', () => {
  const walk = (temperatures: readonly (number | undefined)[], maxTemp = 80): boolean[] => {
    let state: LimitPause = NOT_PAUSED;
    return temperatures.map((temperatureC, at) => {
      state = nextPause(state, temperatureC === undefined ? {} : { temperatureC }, { maxTemp }, at * 2000);
      return state.cause === 'too hot';
    });
  };
  it('is paused at the limit and resumed when it is 5 °C cooler, not before', () => {
    expect(walk([70, 79.9, 80, 79, 76, 75.1, 75, 79, 81])).toEqual([
      ...[false, false, true, true, true, true],
      ...[false, false, true],
    ]);
  });
  it('stays paused while its sensor reports nothing', () =>
    expect(walk([85, undefined, undefined, 74])).toEqual([true, true, true, false]));
  it('is not paused if its sensor never reports', () => expect(walk([undefined])).toEqual([false]));
});

describe('a device that draws much power', () => {
  it('is paused for a while, whatever it draws while idle', () => {
    let state: LimitPause = NOT_PAUSED;
    const held = ([powerW, nowMs]: readonly [number, number]): string | undefined => {
      state = nextPause(state, { powerW }, { maxPower: 300 }, nowMs);
      return state.cause;
    };
    const readings = [
      [290, 0],
      [310, 2000],
      [60, 4000],
      [60, 6000],
      [60, 7000],
      [320, 9000],
    ] as const;
    expect(readings.map(held)).toEqual([
      undefined,
      'too much power',
      'too much power',
      'too much power',
      undefined,
      'too much power',
    ]);
  });
  it('is paused for heat first', () => {
    const { cause } = nextPause(NOT_PAUSED, { powerW: 400, temperatureC: 90 }, { maxPower: 300, maxTemp: 80 }, 0);
    expect(cause).toBe('too hot');
  });
});

describe('a share of the processors', () => {
  it.each([
    [1, 8, 8],
    [0.5, 8, 4],
    [0.3, 2, 1],
    [0.01, 16, 1],
    [0.99, 4, 3],
  ])('%d of %d is %d threads at most', (share, processors, threads) =>
    expect(threadsWithin(share, processors)).toBe(threads),
  );

  it('is kept over time: one thread of two processors, a quarter of them', () => {
    let budget = FULL_BUDGET;
    let usedMs = 0;
    for (let tick = 0; tick < 1000; tick++) {
      const used = budget.isOverspent ? 0 : 100; // the thread works whenever it may
      usedMs += used;
      budget = spend(budget, 0.25, 2, 100, used);
    }
    expect(usedMs / 100_000 / 2).toBeCloseTo(0.25, 2);
  });
  it('carries over little: an idle hour does not allow a busy minute', () => {
    let budget = spend(FULL_BUDGET, 0.5, 2, 3_600_000, 0);
    let free = 0;
    for (; !budget.isOverspent; free++) budget = spend(budget, 0.5, 2, 100, 200);
    expect(free).toBeLessThanOrEqual(3);
  });
});
