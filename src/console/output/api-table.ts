import type { ApiCall } from '../../device/device.js';
import { count } from './format.js';
import { table } from './table.js';

/** A driver's calls in the format of nsys' `cuda_api_sum`, for comparison side by side. */
export function apiTable(calls: readonly ApiCall[]): string[] {
  const total = calls.reduce((sum, { totalNs }) => sum + totalNs, 0);
  const rows = [...calls]
    .sort((a, b) => b.totalNs - a.totalNs)
    .map((call) => [
      total === 0 ? '0.0' : ((100 * call.totalNs) / total).toFixed(1),
      count(Math.round(call.totalNs)),
      count(call.calls),
      tenths(call.calls === 0 ? 0 : call.totalNs / call.calls),
      tenths(call.medianNs),
      count(Math.round(call.minNs)),
      count(Math.round(call.maxNs)),
      tenths(call.deviationNs),
      call.name,
    ]);
  const columns = [heading, ...rows].reduce<number[]>(
    (widths, row) => row.map((cell, at) => Math.max(widths[at] ?? 0, cell.length)),
    [],
  );
  const rule = columns.map((width) => '-'.repeat(width));
  return table([heading, rule, ...rows], { indent: 1, right: [0, 1, 2, 3, 4, 5, 6, 7] });
}

const heading = [
  'Time (%)',
  'Total Time (ns)',
  'Num Calls',
  'Avg (ns)',
  'Med (ns)',
  'Min (ns)',
  'Max (ns)',
  'StdDev (ns)',
  'Name',
];

/** `1,234.5`. */
function tenths(value: number): string {
  const [whole = '0', part = '0'] = value.toFixed(1).split('.');
  return `${count(Number(whole))}.${part}`;
}
