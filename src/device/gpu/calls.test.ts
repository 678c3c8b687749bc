import { expect, test } from 'vitest';
import { Calls } from './calls.js';

test('off, functions are handed back as they are', () => {
  const functions = { one: () => 1 };
  const calls = new Calls(false);
  expect(calls.wrap(functions)).toBe(functions);
  expect(calls.table()).toEqual([]);
});

test('on, each is counted and timed, also when it throws', () => {
  let ns = 0;
  const calls = new Calls(true, () => ns);
  const spend = (time: number): number => {
    ns += time;
    return time;
  };
  const api = calls.wrap({
    quick: spend,
    slow: (time: number) => {
      spend(time);
      if (time > 1000) throw new RangeError('too slow');
      return time;
    },
    never: spend,
    version: 7,
  });
  expect(api.version).toBe(7);
  for (const time of [10, 20, 30, 40, 1000]) expect(api.quick(time)).toBe(time);
  expect(() => api.slow(4000)).toThrow('too slow');
  expect(calls.table()).toEqual([
    { name: 'slow', calls: 1, totalNs: 4000, medianNs: 4000, minNs: 4000, maxNs: 4000, deviationNs: 0 },
    {
      name: 'quick',
      calls: 5,
      totalNs: 1100,
      // Known to a step of 9 %.
      medianNs: expect.closeTo(30, -1),
      minNs: 10,
      maxNs: 1000,
      // The root of the mean square distance from 220.
      deviationNs: expect.closeTo(Math.sqrt((210 ** 2 + 200 ** 2 + 190 ** 2 + 180 ** 2 + 780 ** 2) / 5), 6),
    },
  ]);
});

test('the median of many is near the true one', () => {
  let ns = 0;
  const calls = new Calls(true, () => ns);
  const { call } = calls.wrap({
    call: (time: number) => {
      ns += time;
    },
  });
  const times = Array.from({ length: 9999 }, (_, i) => 100 + ((i * 7919) % 9999) ** 1.5);
  for (const time of times) call(time);
  const median = times.sort((a, b) => a - b)[4999] ?? 0;
  const [row] = calls.table();
  expect((row?.medianNs ?? 0) / median).toBeGreaterThan(0.91);
  expect((row?.medianNs ?? 0) / median).toBeLessThan(1.1);
});
