import { expect, test } from 'vitest';
import { CallTimer } from './calls.js';

test('a disabled timer returns the functions unchanged', () => {
  const functions = { one: () => 1 };
  const calls = new CallTimer(false);
  expect(calls.wrap(functions)).toBe(functions);
  expect(calls.table()).toEqual([]);
});

test('an enabled timer counts and times each call, also one that throws', () => {
  let ns = 0;
  const calls = new CallTimer(true, () => ns);
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
      medianNs: 30,
      minNs: 10,
      maxNs: 1000,
      // The sample standard deviation around the mean, 220: divided by n - 1.
      deviationNs: expect.closeTo(Math.sqrt((210 ** 2 + 200 ** 2 + 190 ** 2 + 180 ** 2 + 780 ** 2) / 4), 6),
    },
  ]);
});

test('the median is exact for few calls and approximate for many', () => {
  let ns = 0;
  const calls = new CallTimer(true, () => ns);
  const { call } = calls.wrap({
    call: (time: number) => {
      ns += time;
    },
  });
  const times = Array.from({ length: 29_999 }, (_, i) => Math.round(100 + ((i * 7919) % 29_999) ** 1.5));
  const medianOf = (values: readonly number[]) => [...values].sort((a, b) => a - b)[(values.length - 1) / 2] ?? 0;
  for (const time of times.slice(0, 9999)) call(time);
  expect(calls.table()[0]?.medianNs).toBe(medianOf(times.slice(0, 9999)));
  for (const time of times.slice(9999)) call(time);
  const [row] = calls.table();
  expect((row?.medianNs ?? 0) / medianOf(times)).toBeGreaterThan(0.91);
  expect((row?.medianNs ?? 0) / medianOf(times)).toBeLessThan(1.1);
});
