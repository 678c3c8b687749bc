import { duration, percent, rate } from '../console/format.js';
import { table } from '../console/table.js';
import type { Comparison, Measurement } from './measure.js';

/** A comparison for people: one row per candidate, the ratio against the first where there are several. */
export function comparisonTable({ measurements, ratios }: Comparison): string[] {
  const several = measurements.length > 1;
  const heading = ['', 'median', 'min', 'max', 'spread', ...(several ? ['ratio'] : []), 'run', 'digest'];
  const rows = measurements.map((one, at) => [
    one.name,
    rate(one.rate.median, one.unit),
    rate(one.rate.min, one.unit),
    rate(one.rate.max, one.unit),
    percent(one.rate.relative),
    ...(several ? [(ratios[at]?.median ?? Number.NaN).toFixed(2)] : []),
    `${one.runs} × ${duration(one.seconds.median)}`,
    one.digest.slice(0, 8),
  ]);
  return table([heading, ...rows], { right: [1, 2, 3, 4, 5, ...(several ? [6] : [])] });
}

/** The same for programs. */
export function measurementFields(one: Measurement): Record<string, unknown> {
  const { name, unit, runs, rate: perSecond, seconds, digest } = one;
  return { name, unit, runs, perSecond, seconds, digest };
}
