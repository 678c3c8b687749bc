import { expect, test } from 'vitest';
import { wantedOf } from './given.js';

test('a range is 2^shift integers long, or as long as is said', () => {
  const start = 2n ** 280n;
  expect(wantedOf({ start }).length).toBe(2n ** 32n);
  expect(wantedOf({ start, shift: 37 }).length).toBe(2n ** 37n);
  expect(wantedOf({ start, shift: 37, length: 1000n })).toMatchObject({ start, length: 1000n, work: undefined });
});
