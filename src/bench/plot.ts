import { scaleLinear, scaleLog } from 'd3-scale';
import { duration, percent, rate } from '../console/format.js';
import type { Fit, Point } from './scaling.js';
import type { Figure } from './suite.js';

/** What a picture shows. */
export interface Plotted {
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly scaling: readonly Scaling[];
}

export interface Scaling {
  readonly workload: string;
  readonly device: string;
  readonly unit: string;
  readonly points: readonly Point[];
  readonly fit: Fit;
}

const WIDTH = 960;
const MARGIN = 24;
const LABELS = 390;
const ROW = 30;
const CHART = 260;
const COLOURS = ['#2f6fb3', '#e07b39', '#6aa84f', '#8e6bb0', '#b58900'];

/** An SVG: each figure as a bar up to its limit, then cost against work in one chart for each workload. */
export function plotOf({ title, figures, scaling }: Plotted): string {
  const parts = [text(MARGIN, 30, title, 'font-size="15" font-weight="600"')];
  const bars = figureBars(figures, 56);
  parts.push(...bars.parts);
  let bottom = bars.bottom;
  for (const [at, one] of scaling.entries()) {
    const chart = costChart(one, MARGIN + (at % 2) * (WIDTH / 2), bottom + 20, WIDTH / 2 - 2 * MARGIN, colour(at));
    parts.push(...chart);
    if (at % 2 === 1 || at === scaling.length - 1) bottom += CHART + 60;
  }
  const height = bottom + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`,
    '  font-family="system-ui, sans-serif" font-size="12" fill="#222">',
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

function figureBars(figures: readonly Figure[], top: number): { readonly parts: string[]; readonly bottom: number } {
  const most = Math.max(1, ...figures.map(({ bound }) => bound?.share ?? 0));
  const x = scaleLinear()
    .domain([0, most])
    .range([LABELS, WIDTH - 180]);
  const workloads = [...new Set(figures.map(({ workload }) => workload))];
  const bottom = top + figures.length * ROW;
  const parts = figures.flatMap((one, at) => {
    const y = top + at * ROW;
    const { bound } = one;
    const fill = colour(workloads.indexOf(one.workload));
    const end = x(bound?.share ?? 0);
    const limit = bound ? `${percent(bound.share)} of ${bound.limit}` : 'no limit measured';
    return [
      text(LABELS - 8, y + 14, `${one.workload}: ${one.name}`, 'text-anchor="end"'),
      text(LABELS - 8, y + 26, one.device, 'text-anchor="end" font-size="10" fill="#888"'),
      `<rect x="${LABELS}" y="${y + 4}" width="${fixed(Math.max(2, end - LABELS))}" height="${ROW - 12}" fill="${fill}"/>`,
      text(end + 8, y + 14, rate(one.rate.median, one.unit), 'font-weight="600"'),
      text(end + 8, y + 26, limit, 'font-size="10" fill="#888"'),
    ];
  });
  const ticks = x.ticks(5).map((tick) => {
    const at = fixed(x(tick));
    return (
      `<line x1="${at}" y1="${top}" x2="${at}" y2="${bottom}" stroke="#ddd"/>` +
      text(x(tick), bottom + 14, percent(tick), 'text-anchor="middle" font-size="10" fill="#888"')
    );
  });
  return { parts: [...ticks, ...parts], bottom: bottom + 20 };
}

/** Seconds against work, both by decades: points as measured, the fitted line behind them. */
function costChart(one: Scaling, left: number, top: number, width: number, fill: string): string[] {
  const { points, fit, unit } = one;
  const works = points.map(({ work }) => work);
  const seconds = points.map((point) => point.seconds);
  const x = scaleLog()
    .domain([Math.min(...works), Math.max(...works)])
    .range([left + 60, left + width]);
  const y = scaleLog()
    .domain([Math.min(...seconds) / 2, Math.max(...seconds) * 2])
    .range([top + CHART, top + 30]);
  const at = (work: number): string => `${fixed(x(work))},${fixed(y(fit.fixed + work / fit.perSecond))}`;
  const decades = (scale: typeof x): number[] => scale.ticks().filter((tick) => Number.isInteger(Math.log10(tick)));
  return [
    text(left, top + 14, `${one.workload} on ${one.device}: cost against work`, 'font-weight="600"'),
    ...decades(y).map(
      (tick) =>
        `<line x1="${left + 60}" y1="${fixed(y(tick))}" x2="${left + width}" y2="${fixed(y(tick))}" stroke="#ddd"/>` +
        text(left + 54, y(tick) + 4, duration(tick), 'text-anchor="end" font-size="10" fill="#888"'),
    ),
    ...decades(x).map((tick) =>
      text(x(tick), top + CHART + 16, `10^${Math.log10(tick)}`, 'text-anchor="middle" font-size="10" fill="#888"'),
    ),
    text(left + width, top + CHART + 30, unit, 'text-anchor="end" font-size="10" fill="#888"'),
    `<polyline points="${curve(works).map(at).join(' ')}" fill="none" stroke="${fill}" stroke-opacity="0.5" stroke-width="2"/>`,
    ...points.map(
      (point) => `<circle cx="${fixed(x(point.work))}" cy="${fixed(y(point.seconds))}" r="4" fill="${fill}"/>`,
    ),
    text(
      left + 66,
      top + 44,
      `${duration(Math.max(0, fit.fixed))} + work / ${rate(fit.perSecond, unit)}, off by ${percent(fit.off)} at most`,
      'font-size="11" fill="#555"',
    ),
  ];
}

/** Forty places from the least to the most, evenly by their logarithms: a sum is no line there. */
function curve(works: readonly number[]): number[] {
  const [least, most] = [Math.min(...works), Math.max(...works)];
  return Array.from({ length: 41 }, (_, k) => least * (most / least) ** (k / 40));
}

const colour = (at: number): string => COLOURS[at % COLOURS.length] ?? '#222';
const fixed = (value: number): string => value.toFixed(1);
const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${fixed(x)}" y="${fixed(y)}" ${more}>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;
