// Draws a section of a trace (`--trace FILE`) as a picture: node scripts/timeline.mjs TRACE.json OUT.svg [--from MS] [--to MS]
//
// One row per track that has slices in the section, as in Perfetto: the host's steps, the work of each stream, each slot's
// chunks, and the counters as lines. Without --from and --to: 12 chunks from the middle of the trace.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { from: { type: 'string' }, to: { type: 'string' }, title: { type: 'string' } },
});
const [input, output] = positionals;
if (input === undefined || output === undefined) {
  console.error('usage: node scripts/timeline.mjs TRACE.json OUT.svg [--from MS] [--to MS] [--title TEXT]');
  process.exit(64);
}

/** @typedef {{ ph: string, name: string, pid: number, tid?: number, ts?: number, dur?: number, args?: Record<string, any> }} TraceEvent */
/** @type {{ traceEvents: TraceEvent[], otherData?: Record<string, unknown> }} */
const trace = JSON.parse(readFileSync(input, 'utf8'));
const events = trace.traceEvents;
const metadata = (/** @type {string} */ name) => events.filter((event) => event.ph === 'M' && event.name === name);
const processes = new Map(metadata('process_name').map(({ pid, args }) => [pid, String(args?.name)]));
const threads = new Map(metadata('thread_name').map(({ pid, tid, args }) => [`${pid}/${tid}`, String(args?.name)]));
const slices = events.filter(({ ph }) => ph === 'X');

const { from, to } = section();
const WIDTH = 1200;
const LEFT = 190;
const ROW = 24;
const COUNTER = 44;
const x = (/** @type {number} */ us) => LEFT + ((us - from) / (to - from)) * (WIDTH - LEFT - 20);

/** Colours by kind of slice. Chunks alternate between two shades, so that neighbours are distinguishable. */
const COLOURS = {
  copy: '#e07b39',
  kernel: '#2f6fb3',
  queued: '#c9ced6',
  waits: '#9aa5b5',
  runs: '#5b9bd5',
  unseen: '#d9534f',
  reap: '#6aa84f',
};
const SHADES = ['#8fb8de', '#b7d0ea'];
const HOST_SHADES = { submit: '#7f8c9b', reap: '#6aa84f', verify: '#b58900', commit: '#8e6bb0' };

const rows = [...threads].sort(byTrack).flatMap(([track, name]) => {
  const own = slices.filter((slice) => `${slice.pid}/${slice.tid}` === track && isIn(slice));
  return own.length === 0 ? [] : [{ track, name, own }];
});
const counters = counterRows();
const parts = [];
let y = 58;
let process_ = -1;
for (const { track, name, own } of rows) {
  const pid = Number(track.split('/')[0]);
  if (pid !== process_) {
    y += process_ < 0 ? 0 : 8;
    parts.push(text(8, y + 12, processes.get(pid) ?? '', 'font-weight="600"'));
    y += 20;
    process_ = pid;
  }
  parts.push(text(16, y + 15, name), line(LEFT, y + ROW - 1, WIDTH - 20, y + ROW - 1, '#eceff3'));
  for (const slice of [...own].sort((a, b) => (b.dur ?? 0) - (a.dur ?? 0))) parts.push(box(slice, name));
  y += ROW;
}
for (const { pid, name, points } of counters) {
  y += 6;
  const max = Math.max(...points.map(([, value]) => value), 1e-9);
  parts.push(text(16, y + 15, name), text(16, y + 30, `at most ${short(max)}`, 'fill="#6b7280" font-size="10"'));
  const at = (/** @type {number} */ value) => y + COUNTER - 4 - (value / max) * (COUNTER - 10);
  const path = points
    .map(
      ([us, value], k) =>
        `${k === 0 ? 'M' : `H${x(us).toFixed(1)} V`}${k === 0 ? `${x(us).toFixed(1)} ` : ''}${at(value).toFixed(1)}`,
    )
    .join(' ');
  parts.push(
    `<path d="${path} H${WIDTH - 20}" fill="none" stroke="#2f6fb3" stroke-width="1.2" data-process="${pid}"/>`,
  );
  parts.push(line(LEFT, y + COUNTER, WIDTH - 20, y + COUNTER, '#eceff3'));
  y += COUNTER;
}
const height = y + 44;
const axis = ticks().flatMap((us) => [
  line(x(us), 46, x(us), y + 4, '#e3e7ec'),
  text(x(us), y + 18, `${short(us / 1000)} ms`, 'text-anchor="middle" fill="#6b7280"'),
]);
const about = trace.otherData ?? {};
const title = values.title ?? `${about.command ?? 'trace'}: ${short(from / 1000)} to ${short(to / 1000)} ms`;
writeFileSync(
  output,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${text(8, 22, title, 'font-size="15" font-weight="600"')}
${legend()}
${axis.join('\n')}
${parts.join('\n')}
</svg>
`,
);
console.log(`${output}: ${rows.length} tracks, ${counters.length} counters, ${short((to - from) / 1000)} ms`);

/** Returns the section given by the options, or a dozen chunks around the middle. */
function section() {
  const ran = slices.filter(
    ({ pid, tid, args }) => pid > 1 && args?.outcome !== undefined && args.count !== undefined && tid !== undefined,
  );
  const starts = ran.map(({ ts = 0 }) => ts).sort((a, b) => a - b);
  const middle = Math.max(0, Math.floor(starts.length / 2) - 6);
  const toUs = (/** @type {string | undefined} */ ms) => (ms === undefined ? undefined : Number(ms) * 1000);
  const first = toUs(values.from) ?? starts[middle] ?? 0;
  const ends = ran.slice().sort((a, b) => (a.ts ?? 0) - (b.ts ?? 0));
  const last = ends[Math.min(ends.length - 1, middle + 12)];
  return { from: first, to: toUs(values.to) ?? (last ? (last.ts ?? 0) + (last.dur ?? 0) : first + 1000) };
}

/** @param {TraceEvent} event */
function isIn({ ts = 0, dur = 0 }) {
  return ts < to && ts + dur > from;
}

/** The host first, then each device: its streams, then their slots. @param {[string, string]} a @param {[string, string]} b */
function byTrack([a], [b]) {
  const [pidA = 0, tidA = 0] = a.split('/').map(Number);
  const [pidB = 0, tidB = 0] = b.split('/').map(Number);
  return pidA - pidB || tidA - tidB;
}

function counterRows() {
  const names = new Map();
  for (const { ph, pid, name, ts = 0, args } of events) {
    if (ph !== 'C') continue;
    const key = `${pid} ${name}`;
    const row = names.get(key) ?? { pid, name, all: [] };
    row.all.push([ts, Number(args?.value)]);
    names.set(key, row);
  }
  return [...names.values()].flatMap(({ pid, name, all }) => {
    all.sort((/** @type {number[]} */ a, /** @type {number[]} */ b) => (a[0] ?? 0) - (b[0] ?? 0));
    const before = all.filter((/** @type {[number, number]} */ [us]) => us <= from).at(-1);
    const within = all.filter((/** @type {[number, number]} */ [us]) => us > from && us < to);
    const points = [...(before ? [[from, before[1]]] : []), ...within];
    return points.length === 0 ? [] : [{ pid, name, points }];
  });
}

/** @param {TraceEvent} slice @param {string} track */
function box({ name, ts = 0, dur = 0, args }, track) {
  const [left, right] = [Math.max(x(ts), LEFT), Math.min(x(ts + dur), WIDTH - 20)];
  const wide = Math.max(0.6, right - left);
  const own = COLOURS[/** @type {keyof typeof COLOURS} */ (name)];
  const host = HOST_SHADES[/** @type {keyof typeof HOST_SHADES} */ (track.replace(/ \(\d+\)$/, ''))];
  const number = Number(/(\d+)$/.exec(name)?.[1] ?? 0);
  const fill = own ?? host ?? SHADES[number % 2] ?? '#ccc';
  const inset = own === undefined ? 2 : 7;
  const label = own === undefined && wide > 7 * name.length ? text(left + 4, y + 15, name, 'font-size="10"') : '';
  const words = `${name}, ${short(dur / 1000)} ms${args?.outcome === undefined ? '' : `, ${args.outcome}`}`;
  return `<rect x="${left.toFixed(1)}" y="${y + inset}" width="${wide.toFixed(1)}" height="${ROW - 2 * inset}" fill="${fill}"><title>${escaped(words)}</title></rect>${label}`;
}

function legend() {
  let at = LEFT;
  return Object.entries(COLOURS)
    .map(([name, fill]) => {
      const item = `<rect x="${at}" y="32" width="10" height="10" fill="${fill}"/>${text(at + 14, 41, name, 'fill="#4b5563" font-size="11"')}`;
      at += 30 + 7 * name.length;
      return item;
    })
    .join('\n');
}

/** Returns about ten round times. */
function ticks() {
  const raw = (to - from) / 10;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((candidate) => candidate >= raw) ?? raw;
  const marks = [];
  for (let us = Math.ceil(from / step) * step; us <= to; us += step) marks.push(us);
  return marks;
}

/** @param {number} value */
function short(value) {
  return Math.abs(value) >= 1e6 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/** @param {number} left @param {number} top @param {string} words @param {string} [more] */
function text(left, top, words, more = '') {
  return `<text x="${left.toFixed(1)}" y="${top}" ${more}>${escaped(words)}</text>`;
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} stroke */
function line(x1, y1, x2, y2, stroke) {
  return `<line x1="${x1.toFixed(1)}" y1="${y1}" x2="${x2.toFixed(1)}" y2="${y2}" stroke="${stroke}"/>`;
}

/** @param {string} words */
function escaped(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
