import { expect, test } from 'vitest';
import { median } from './median.js';

test.each([
  [[7], 7],
  [[9, 1], 5],
  [[3, 1, 2], 2],
  [[10, 1, 100, 2], 6],
  [[0.1, -5, 1e9, 0.3], 0.2],
])('the median of %j is %d', (values, expected) => {
  const given = [...values];
  expect(median(values)).toBeCloseTo(expected, 12);
  expect(values).toEqual(given);
});

test('the median of nothing is NaN', () => {
  expect(median([])).toBeNaN();
});
