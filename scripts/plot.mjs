// Draws a report of `millrace bench --save` as a picture: npm run build && node scripts/plot.mjs REPORT.json OUT.svg
//
// Contains a bar per figure, up to its limit; cost against work per workload; and the chunks of a job over time.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machineLine } from '../dist/bench/machine.js';
import { readSaved } from '../dist/bench/saved.js';
import { duration, percent, rate } from '../dist/console/output/format.js';

/** @typedef {import('../dist/bench/saved.js').SavedReport} Report */
/** @typedef {{ parts: string[], bottom: number }} Drawn `bottom`: where the next part starts. */

const WIDTH = 960;
const MARGIN = 24;
const LABELS = 440;
const ROW = 30;
const CHART = 260;
const COLOURS = ['#2f6fb3', '#e07b39', '#6aa84f', '#8e6bb0', '#b58900'];
const SMALL = 'font-size="10" fill="#888"';

/** Returns a report as an SVG. @param {Report} report */
export function plotOf({ version, date, machine, figures, scaling, timelines }) {
  const title = `Millrace ${version.replace(/\+.*/, '')}, ${date}, ${machineLine(machine)}`;
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

/** @param {Report['figures']} figures @param {number} top @returns {Drawn} */
function figureBars(figures, top) {
  const max = Math.max(1, ...figures.map(({ bound }) => bound?.share ?? 0));
  const x = linear([0, max], [LABELS, WIDTH - 150]);
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
      text(LABELS - 8, y + 26, one.device, `text-anchor="end" ${SMALL}`),
      `<rect x="${LABELS}" y="${y + 4}" width="${fixed(Math.max(2, end - LABELS))}" height="${ROW - 12}" fill="${fill}"/>`,
      text(end + 8, y + 14, rate(one.rate.median, one.unit), 'font-weight="600"'),
      text(end + 8, y + 26, limit, SMALL),
    ];
  });
  const lines = ticks(max, 5).map((tick) => {
    const at = fixed(x(tick));
    return (
      `<line x1="${at}" y1="${top}" x2="${at}" y2="${bottom}" stroke="#ddd"/>` +
      text(x(tick), bottom + 14, percent(tick), `text-anchor="middle" ${SMALL}`)
    );
  });
  return { parts: [...lines, ...parts], bottom: bottom + 20 };
}

/**
 * Draws seconds against work on logarithmic axes: the measured points, with the fitted line behind them.
 * @param {Report['scaling'][number]} one @param {number} left @param {number} top @param {number} width @param {string} fill
 */
function costChart(one, left, top, width, fill) {
  const { points, fit, unit } = one;
  const works = points.map(({ work }) => work);
  const seconds = points.map((point) => point.seconds);
  const [minWork, maxWork] = [Math.min(...works), Math.max(...works)];
  const [minSeconds, maxSeconds] = [Math.min(...seconds) / 2, Math.max(...seconds) * 2];
  const x = logarithmic([minWork, maxWork], [left + 60, left + width]);
  const y = logarithmic([minSeconds, maxSeconds], [top + CHART, top + 44]);
  const at = (/** @type {number} */ work) => `${fixed(x(work))},${fixed(y(fit.fixed + work / fit.perSecond))}`;
  // Forty even steps: on logarithmic axes the fitted line is a curve.
  const curve = Array.from({ length: 41 }, (_, k) => minWork * (maxWork / minWork) ** (k / 40));
  return [
    text(left, top + 14, `${one.workload} on ${one.device}: cost against work`, 'font-weight="600"'),
    ...decades(minSeconds, maxSeconds).map(
      (tick) =>
        `<line x1="${left + 60}" y1="${fixed(y(tick))}" x2="${left + width}" y2="${fixed(y(tick))}" stroke="#ddd"/>` +
        text(left + 54, y(tick) + 4, duration(tick), `text-anchor="end" ${SMALL}`),
    ),
    ...decades(minWork, maxWork).map((tick) =>
      text(x(tick), top + CHART + 16, `10^${Math.log10(tick)}`, `text-anchor="middle" ${SMALL}`),
    ),
    text(left + width, top + CHART + 30, unit, `text-anchor="end" ${SMALL}`),
    `<polyline points="${curve.map(at).join(' ')}" fill="none" stroke="${fill}" stroke-opacity="0.5" stroke-width="2"/>`,
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

/**
 * Draws a row per slot and a bar per chunk: queued behind others in grey, on the device in blue (two alternating shades),
 * ended but not yet read in orange. If blue has no gap from row to row, the device always has work.
 * @param {Report['timelines'][number]} timeline @param {number} top @returns {Drawn}
 */
function chunkRows({ workload, device, chunks }, top) {
  const rowHeight = 22;
  const shades = ['#2f6fb3', '#5b9bd5'];
  const max = Math.max(...chunks.map(({ ended }) => ended));
  const scale = linear([0, max], [MARGIN + 60, WIDTH - MARGIN]);
  const x = (/** @type {number} */ us) => scale(Math.min(max, Math.max(0, us)));
  const slots = 1 + Math.max(...chunks.map(({ slot }) => slot));
  const rowTop = (/** @type {number} */ slot) => top + 44 + slot * rowHeight;
  const bottom = rowTop(slots) + 24;
  /** @param {{ slot: number }} chunk @param {number} from @param {number} to @param {string | undefined} fill @param {number} inset */
  const box = ({ slot }, from, to, fill, inset) =>
    `<rect x="${fixed(x(from))}" y="${rowTop(slot) + inset}" width="${fixed(Math.max(0, x(to) - x(from)))}" height="${rowHeight - 6 - 2 * inset}" fill="${fill}"/>`;
  const legend = [
    ['#2f6fb3', 'on the device'],
    ['#dfe3e8', 'behind others'],
    ['#e07b39', 'ended, not yet read'],
  ];
  const parts = [
    text(MARGIN, top + 14, `${workload} on ${device}: ${chunks.length} chunks of a job`, 'font-weight="600"'),
    ...legend.flatMap(([fill, words = ''], at) => [
      `<rect x="${MARGIN + 60 + at * 140}" y="${top + 23}" width="10" height="10" fill="${fill}"/>`,
      text(MARGIN + 76 + at * 140, top + 32, words, 'font-size="10" fill="#555"'),
    ]),
    ...Array.from({ length: slots }, (_, slot) => text(MARGIN, rowTop(slot) + 12, `slot ${slot}`, SMALL)),
    ...chunks.flatMap((one, at) => [
      box(one, one.submitted, one.started, '#dfe3e8', 4),
      box(one, one.started, one.ended, shades[at % 2], 0),
      box(one, one.ended, one.reaped, '#e07b39', 4),
    ]),
    ...ticks(max, 6).map((tick) => text(x(tick), bottom - 8, duration(tick / 1e6), `text-anchor="middle" ${SMALL}`)),
  ];
  return { parts, bottom };
}

/** Returns a scale that maps `from` to `to`. @typedef {[number, number]} Range @param {Range} from @param {Range} to */
function linear([min, max], [start, end]) {
  return (/** @type {number} */ value) => start + ((value - min) / (max - min)) * (end - start);
}

/** @param {Range} from @param {Range} to */
function logarithmic([min, max], to) {
  const scale = linear([Math.log(min), Math.log(max)], to);
  return (/** @type {number} */ value) => scale(Math.log(value));
}

/** Returns about `count` round values from 0 to `max`: multiples of 1, 2 or 5 times a power of ten. @param {number} max @param {number} count */
function ticks(max, count) {
  const rawStep = max / count;
  const power = 10 ** Math.floor(Math.log10(rawStep));
  const ratio = rawStep / power;
  const step = power * (ratio >= Math.sqrt(50) ? 10 : ratio >= Math.sqrt(10) ? 5 : ratio >= Math.sqrt(2) ? 2 : 1);
  return Array.from({ length: 1 + Math.floor(max / step) }, (_, k) => k * step);
}

/** Returns the powers of ten between two values. @param {number} min @param {number} max */
function decades(min, max) {
  const first = Math.ceil(Math.log10(min));
  return Array.from({ length: Math.max(0, Math.floor(Math.log10(max)) - first + 1) }, (_, k) => 10 ** (first + k));
}

const colour = (/** @type {number} */ at) => COLOURS[at % COLOURS.length] ?? '#222';
const fixed = (/** @type {number} */ value) => value.toFixed(1);
const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ words, more = '') =>
  `<text x="${fixed(x)}" y="${fixed(y)}" ${more}>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [input, output] = process.argv.slice(2);
  if (input === undefined || output === undefined) {
    console.error('usage: node scripts/plot.mjs REPORT.json OUT.svg');
    process.exit(64);
  }
  writeFileSync(output, plotOf(readSaved(input)));
}
