import { expect, test } from 'vitest';
import type { WorkloadWork } from '../../../fleet/manifest/index.js';
import { fleetGaps, fleetGapsJob } from './fleet.js';

test('gaps that workers report are checked', async () => {
  // 1327 begins the first gap of 34 (OEIS A000101); 1309 = 7 · 11 · 17; 1307 and 1319 are consecutive primes.
  const space = { start: 0n, length: 100n };
  const job = fleetGapsJob({ start: 1300n, length: 100n, minGap: 34 }, undefined, space);
  const { params } = job.manifest.work as WorkloadWork;
  const at = (...indices: bigint[]) =>
    fleetGaps.check(
      params,
      indices.map((index) => ({ index, fields: {} })),
    );
  expect(await at(27n)).toBeUndefined();
  expect(await at(27n, 9n)).toBe('1309 is composite');
  expect(await at(7n)).toBe('1319 is prime');
  for (const wrong of [{ start: '-1' }, { start: '0x10' }, { minGap: 1 }, { length: 5 }])
    await expect(fleetGaps.check({ ...params, ...wrong }, [])).rejects.toThrow(/a search for gaps: /);
});
