import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { poolMetrics } from './pool-metrics.js';

const { pool_metrics: cases } = JSON.parse(
  readFileSync(new URL('../../../test/data/telemetry/statistics.json', import.meta.url), 'utf8'),
) as {
  readonly pool_metrics: readonly {
    readonly acquires: readonly number[];
    readonly waits_ns: readonly number[];
    readonly min: number;
    readonly max: number;
    readonly total_acquires: number;
    readonly total_waits: number;
    readonly starvation: number;
    readonly avg_wait_ns: number;
  }[];
};

test.each(cases)('metrics of $acquires and $waits_ns', (known) => {
  expect(poolMetrics(known.acquires, known.waits_ns)).toEqual({
    min: known.min,
    max: known.max,
    acquires: known.total_acquires,
    waits: known.total_waits,
    starvation: known.starvation,
    averageWaitNs: known.avg_wait_ns,
  });
});

test('metrics of an unused pool, and of a mean that is not a whole number', () => {
  expect(poolMetrics([], [])).toEqual({
    min: undefined,
    max: undefined,
    acquires: 0,
    waits: 0,
    starvation: 0,
    averageWaitNs: 0,
  });
  expect(poolMetrics([0, 0, 0], [10, 10, 12]).averageWaitNs).toBe(10);
});
