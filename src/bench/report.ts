import { bytes, duration, percent, rate, scaled } from '../console/output/format.js';
import { table } from '../console/output/table.js';
import { limitUnits } from './limits.js';
import { type Machine, machineLine } from './machine.js';
import type { Comparison, Measurement } from './measure.js';
import { type Figure, isFigure, type NoFigure } from './suite.js';

/** Returns a comparison as a table: one row per candidate, with the ratio to the first if there are several. */
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

/** Returns the same as fields of an event. */
export function measurementFields(one: Measurement): Record<string, unknown> {
  const { name, unit, runs, rate: perSecond, seconds, digest } = one;
  return { name, unit, runs, perSecond, seconds, digest };
}

/** Columns of a suite's table: one row per figure, with its limit. */
export const SUITE_HEADING = ['', '', 'device', 'median', '', 'spread', 'of the limit', 'fed', 'per J', 'peak memory'];
export const SUITE_RIGHT = [3, 4, 5, 7, 8, 9];

export function figureRow(one: Figure): string[] {
  return [
    one.workload,
    one.name,
    one.device,
    rate(one.rate.median, one.unit),
    one.bytesPerSecond === undefined || one.unit === 'B' ? '' : rate(one.bytesPerSecond, 'B'),
    percent(one.rate.relative),
    boundText(one),
    one.fed === undefined ? '' : percent(one.fed),
    one.perJoule === undefined ? '' : scaled(one.perJoule) + one.unit,
    bytes(one.hostBytes + (one.deviceBytes ?? 0)),
  ];
}

/** Returns `70.2 % of 28.6 Gop/s integer`. */
export const boundText = ({ bound }: Figure): string =>
  bound ? `${percent(bound.share)} of ${rate(bound.perSecond, limitUnits[bound.limit])} ${bound.limit}` : '';

/** Returns the same as fields of an event. */
export function figureFields(one: Figure): Record<string, unknown> {
  const { rate: perSecond, rates: _, frozenRatios: __, ...others } = one;
  return { ...others, perSecond };
}

export function markdownOf(date: string, host: Machine, all: readonly (Figure | NoFigure)[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const figures = all.filter(isFigure);
  const missing = all.filter((one): one is NoFigure => !isFigure(one));
  return [
    `${date}, ${machineLine(host)}`,
    ...host.devices.map(({ id, name }) => `- ${id}: ${name}`),
    '',
    row([...SUITE_HEADING, 'checked by']),
    row([...SUITE_HEADING, ''].map((_, at) => (SUITE_RIGHT.includes(at) ? '---:' : '---'))),
    ...figures.map((one) => row([...figureRow(one), one.checkedBy])),
    ...(missing.length > 0 ? ['', 'No figure:', ''] : []),
    ...missing.map(({ workload, name, device, reason }) => `- ${workload} on ${device}, ${name}: ${reason}`),
  ].join('\n');
}
