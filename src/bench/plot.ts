import { scaleLinear, scaleLog } from 'd3-scale';
import { duration, percent, rate } from '../console/format.js';
import type { Scaling } from './saved.js';
import type { Figure } from './suite.js';
import type { Timeline, TimelineChunk } from './timeline.js';

/** What a picture shows. */
export interface Plotted {
  readonly title: string;
  readonly figures: readonly Figure[];
  readonly scaling: readonly Scaling[];
  readonly timelines: readonly Timeline[];
}

const WIDTH = 960;
const MARGIN = 24;
const LABELS = 440;
const ROW = 30;
const CHART = 260;
const COLOURS = ['#2f6fb3', '#e07b39', '#6aa84f', '#8e6bb0', '#b58900'];

/** An SVG: each figure as a bar up to its limit, then cost against work for each workload, then chunks in time. */
export function plotOf({ title, figures, scaling, timelines }: Plotted): string {
  const parts = [text(MARGIN, 30, title, 'font-size="15" font-weight="600"')];
  const bars = figureBars(figures, 56);
  parts.push(...bars.parts);
  let bottom = bars.bottom;
  for (const [at, one] of scaling.entries()) {
    const chart = costChart(one, MARGIN + (at % 2) * (WIDTH / 2), bottom + 20, WIDTH / 2 - 2 * MARGIN, colour(at));
    parts.push(...chart);
    if (at % 2 === 1 || at === scaling.length - 1) bottom += CHART + 60;
  }
  for (const one of timelines) {
    const drawn = chunkRows(one, bottom + 20);
    parts.push(...drawn.parts);
    bottom = drawn.bottom;
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
    .range([LABELS, WIDTH - 150]);
  const workloads = [...new Set(figures.map(({ workload }) => workload))];
  const bottom = top + figures.length * ROW;
  const parts = figures.flatMap((one, at) => {
    const y = top + at * ROW;
    const { bound } = one;
    const fill = colour(workloads.indexOf(one.workload));
    const end = x(bound?.share ?? 0);
    const limit = bound ? `${percent(bound.share)} (limit: ${bound.limit})` : 'no limit measured';
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
    .range([top + CHART, top + 44]);
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
      left,
      top + 30,
      `${duration(Math.max(0, fit.fixed))} + work / ${rate(fit.perSecond, unit)}, off by ${percent(fit.off)} at most`,
      'font-size="11" fill="#555"',
    ),
  ];
}

const SHADES = { queued: '#dfe3e8', runs: ['#2f6fb3', '#5b9bd5'], unread: '#e07b39' } as const;
const CHUNK_ROW = 22;

/**
 * A row for each slot, a bar for each chunk: waiting behind the others in grey, on the device in blue (by turns in two
 * shades), ended and not yet read in orange. The device is fed where blue has no gap from row to row.
 */
function chunkRows(
  { workload, device, chunks }: Timeline,
  top: number,
): { readonly parts: string[]; readonly bottom: number } {
  const most = Math.max(...chunks.map(({ ended }) => ended));
  const x = scaleLinear()
    .domain([0, most])
    .range([MARGIN + 60, WIDTH - MARGIN])
    .clamp(true);
  const slots = 1 + Math.max(...chunks.map(({ slot }) => slot));
  const rowTop = (slot: number): number => top + 44 + slot * CHUNK_ROW;
  const bottom = rowTop(slots) + 24;
  const box = ({ slot }: TimelineChunk, from: number, to: number, fill: string, inset: number): string =>
    `<rect x="${fixed(x(from))}" y="${rowTop(slot) + inset}" width="${fixed(Math.max(0, x(to) - x(from)))}" height="${CHUNK_ROW - 6 - 2 * inset}" fill="${fill}"/>`;
  const legend = [
    [SHADES.runs[0], 'on the device'],
    [SHADES.queued, 'behind others'],
    [SHADES.unread, 'ended, not yet read'],
  ] as const;
  const parts = [
    text(MARGIN, top + 14, `${workload} on ${device}: ${chunks.length} chunks of a job`, 'font-weight="600"'),
    ...legend.flatMap(([fill, words], at) => [
      `<rect x="${MARGIN + 60 + at * 140}" y="${top + 23}" width="10" height="10" fill="${fill}"/>`,
      text(MARGIN + 76 + at * 140, top + 32, words, 'font-size="10" fill="#555"'),
    ]),
    ...Array.from({ length: slots }, (_, slot) =>
      text(MARGIN, rowTop(slot) + 12, `slot ${slot}`, 'font-size="10" fill="#888"'),
    ),
    ...chunks.flatMap((one, at) => [
      box(one, one.submitted, one.started, SHADES.queued, 4),
      box(one, one.started, one.ended, SHADES.runs[at % 2] ?? SHADES.runs[0], 0),
      box(one, one.ended, one.reaped, SHADES.unread, 4),
    ]),
    ...x
      .ticks(6)
      .map((tick) =>
        text(x(tick), bottom - 8, duration(tick / 1e6), 'text-anchor="middle" font-size="10" fill="#888"'),
      ),
  ];
  return { parts, bottom };
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
