// Makes docs/PERFORMANCE.md, the table of README.md and the pictures in docs/img from the reports of `millrace bench --save`
// in docs/measurements/reports, one file for each device of a machine.
//   npm run build && node scripts/performance.mjs            writes them
//   node scripts/performance.mjs --check                     exit status 1 if they are not current

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limitUnits } from '../dist/bench/limits.js';
import { machineLine } from '../dist/bench/machine.js';
import { figureRow, SUITE_HEADING } from '../dist/bench/report.js';
import { readSaved } from '../dist/bench/saved.js';
import { bytes, count, duration, percent, rate } from '../dist/console/output/format.js';
import { plotOf } from './plot.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const REPORTS = 'docs/measurements/reports';

/** @typedef {import('../dist/bench/saved.js').SavedReport} Report */
/** @typedef {{ name: string, report: Report, device: Report['machine']['devices'][number] }} Named */

const BEGIN = '<!-- figures: made by scripts/performance.mjs -->';
const END = '<!-- end of figures -->';

/** Figures that the README shows, if a report has them. @type {[workload: string, name: string][]} */
const HEADLINE = [
  ['block', 'SHA-256d of headers'],
  ['words', '8 characters, packed, left on the device'],
  ['words', '100 M words of 10, to host memory'],
  ['words', '10 M words of 10, to host memory'],
  ['uhash', 'nonces of a challenge'],
  ['encode', 'amplitude, 16 qubits × 64, f64, from page-locked memory'],
  ['encode', 'amplitude, 16 qubits × 64, f64, encode only'],
  ['gaps', 'Fermat tests, 320 bits'],
  ['gaps', 'search, shift 32'],
];

/** Reports that the README shows: a GPU, and the processors beside it. */
const README_REPORTS = ['h200-cuda', 'h200-native'];

const reports = readdirSync(join(root, REPORTS))
  .filter((file) => file.endsWith('.json'))
  .map((file) => named(file.replace(/\.json$/, ''), readSaved(join(root, REPORTS, file))))
  .sort((a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name));

/** @type {Map<string, string>} */
const made = new Map([['docs/PERFORMANCE.md', performanceText()]]);
for (const one of reports) made.set(`docs/img/${one.name}.svg`, plotOf(one.report));
made.set('README.md', withTable(readFileSync(join(root, 'README.md'), 'utf8')));

const stale = [...made].filter(([file, text]) => textOf(file) !== text).map(([file]) => file);
if (process.argv.includes('--check')) {
  for (const file of stale) console.log(`${file} does not match the reports: run node scripts/performance.mjs`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const file of stale) {
    writeFileSync(join(root, file), made.get(file) ?? '');
    console.log(`wrote ${file}`);
  }
}

function performanceText() {
  return `${[
    '# Performance',
    '',
    `<!-- Made by scripts/performance.mjs from ${REPORTS}: change those, not this. -->`,
    '',
    'Every figure here was printed by `millrace bench`, which checks the results first: the median of five or more runs',
    'after a warm-up, the spread (largest less smallest, divided by the median), and the share of the limit that bounds the',
    'work on that device, measured by the same command. [benchmarks.md](benchmarks.md) explains the method and the limits.',
    'Older figures, figures of other programs, and experiments are in [measurements/](measurements/).',
    '',
    ...headline(),
    ...reports.flatMap(sectionOf),
  ].join('\n')}`.replace(/\n*$/, '\n');
}

/** Returns the table of all figures on all measured devices, with the share of the limit in brackets. */
function headline() {
  const works = new Map();
  for (const { report } of reports) {
    for (const { workload, name } of report.figures) works.set(`${workload}\0${name}`, { workload, name });
  }
  const order = reports.flatMap(({ report }) => report.figures.map(({ workload }) => workload));
  const sorted = [...works.values()].sort((a, b) => order.indexOf(a.workload) - order.indexOf(b.workload));
  return table(
    ['', '', ...reports.map(titleOf)],
    sorted.map((work) => [work.workload, work.name, ...reports.map(({ report }) => cellOf(report, work))]),
    reports.map((_, at) => at + 2),
  );
}

/**
 * @param {Report} report
 * @param {{ workload: string, name: string }} work
 */
function cellOf(report, { workload, name }) {
  const one = report.figures.find((figure) => figure.workload === workload && figure.name === name);
  if (!one) return '';
  const text = rate(one.rate.median, one.unit);
  return one.bound ? `${text} (${percent(one.bound.share)})` : text;
}

/** @param {Named} named */
function sectionOf({ name, report, device }) {
  const { figures, missing, peers, scaling, several, machine, command, version, date } = report;
  const versions = Object.entries(device.versions ?? {}).map(([component, release]) => `${component} ${release}`);
  return [
    `## ${titleOf({ name, report, device })}`,
    '',
    `${date}, Millrace ${version}, ${machineLine(machine)}; ${device.id}: ${device.name}${versions.length > 0 ? ` (${versions.join(', ')})` : ''}.`,
    `Made by this command; its report is [${name}.json](measurements/reports/${name}.json) ([picture](img/${name}.svg)):`,
    '',
    '```sh',
    command.replace(/ --plot \S+/, ''), // an option of 0.1.0
    '```',
    '',
    ...table(
      [...SUITE_HEADING.filter((heading) => heading !== 'device'), 'checked by'],
      figures.map((one) => {
        const [workload = '', name = '', , ...figure] = figureRow(one);
        return [workload, name, ...figure, one.checkedBy];
      }),
      [2, 3, 4, 6, 7, 8],
    ),
    `To repeat one workload: ${repeats(report, device.id)}.`,
    '',
    ...(missing.length > 0
      ? ['No figure:', '', ...missing.map((one) => `- ${one.workload}, ${one.name}: ${one.reason}`), '']
      : []),
    ...limitsOf(report),
    ...peers.flatMap(peersText),
    ...scalingText(scaling, several),
  ];
}

/**
 * @param {Report} report
 * @param {string} device
 */
function repeats({ figures, command }, device) {
  const workloads = [...new Set(figures.map(({ workload }) => workload))];
  const full = / --full\b/.test(command) ? ' --full' : '';
  return workloads.map((workload) => `\`millrace bench all ${workload} --device ${device}${full}\``).join(', ');
}

/** @param {Report} report */
function limitsOf({ figures }) {
  const limits = new Map(figures.flatMap(({ bound }) => (bound ? [[bound.limit, bound.perSecond]] : [])));
  if (limits.size === 0) return [];
  const rates = [...limits].map(([limit, perSecond]) => `${limit} ${rate(perSecond, limitUnits[limit])}`);
  return [`Measured limits: ${rates.join(', ')}.`, ''];
}

/** @param {Report['peers'][number]} peers */
function peersText({ workload, title, rows, absent }) {
  return [
    `**Comparison, ${workload}:** ${title}, in alternation.`,
    '',
    ...table(
      ['', 'median', 'spread', 'against the first'],
      rows.map((one) => [
        one.name.replaceAll('|', '\\|'),
        rate(one.rate.median, one.unit),
        percent(one.rate.relative),
        one.ratio ? `${one.ratio.median.toFixed(2)}×` : '',
      ]),
      [1, 2, 3],
    ),
    ...(absent.length > 0 ? [`Not installed: ${absent.join(', ')}.`, ''] : []),
  ];
}

/**
 * @param {Report['scaling']} scaling
 * @param {Report['several']} several
 */
function scalingText(scaling, several) {
  if (scaling.length === 0) return [];
  return [
    '**Cost against work:** the best of three runs of each size.',
    '',
    ...table(
      ['', 'smallest', 'largest', 'line fitted to five sizes', 'largest error', 'memory, minimum and maximum'],
      scaling.map(({ workload, unit, points, fit }) => {
        const [smallest, largest] = [points[0], points.at(-1)];
        const resident = points.map(({ residentBytes }) => residentBytes);
        const size = (/** @type {typeof smallest} */ point) =>
          point ? `${count(point.work)} ${unit}: ${duration(point.seconds)}` : '';
        return [
          workload,
          size(smallest),
          size(largest),
          `${duration(Math.max(0, fit.fixed))} + work / ${rate(fit.perSecond, unit)}`,
          percent(fit.off),
          `${bytes(Math.min(...resident))}, ${bytes(Math.max(...resident))}`,
        ];
      }),
      [1, 2, 4],
    ),
    ...several.flatMap(({ workload, isVirtual, unit, found }) => {
      const rates = found.map(({ devices, perSecond }) => `${devices}: ${rate(perSecond, unit)}`);
      const kind = isVirtual ? 'virtual devices made from one, each limited to a sixteenth of its speed' : 'devices';
      return [`${workload} on several (${kind}): ${rates.join(', ')}.`, ''];
    }),
  ];
}

/**
 * Replaces the README's figures: the table of `HEADLINE`.
 * @param {string} readme
 */
function withTable(readme) {
  const [before, rest] = readme.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) return readme;
  const shown = reports.filter(({ name }) => README_REPORTS.includes(name));
  const rows = HEADLINE.flatMap(([workload, name]) => {
    const cells = shown.map(({ report }) => cellOf(report, { workload, name }));
    return cells.every((cell) => cell === '') ? [] : [[workload, name, ...cells]];
  });
  const lines = [
    BEGIN,
    ...table(
      ['', '', ...shown.map(titleOf)],
      rows,
      shown.map((_, at) => at + 2),
    ),
    'In brackets: the share of the hardware limit, measured in the same run. [docs/PERFORMANCE.md](docs/PERFORMANCE.md) has all',
    'figures and devices, how each was checked, and comparisons with other programs.',
    END,
  ];
  return `${before}${lines.join('\n')}${after}`;
}

/** @param {Named} named */
function titleOf({ report, device }) {
  const kind = kindOf(device.id);
  const cores = `${report.machine.cores} core${report.machine.cores === 1 ? '' : 's'}`;
  return kind === 'native' || kind === 'wasm' ? `${kind}, ${cores} of ${device.name}` : `${kind}, ${device.name}`;
}

/**
 * @param {string} name
 * @param {Report} report
 * @returns {Named}
 */
function named(name, report) {
  const [device, other] = report.machine.devices;
  if (!device || other) throw new Error(`${name}: a report must have exactly one device`);
  return { name, report, device };
}

/** GPUs first. @param {Named} named */
function rankOf({ device }) {
  return ['cuda', 'opencl', 'webgpu', 'native', 'wasm', 'interpreter'].indexOf(kindOf(device.id));
}

/** @param {string} id */
function kindOf(id) {
  return id.replace(/:.*/, '');
}

/**
 * Returns a Markdown table, followed by a blank line.
 * @param {string[]} heading
 * @param {string[][]} rows
 * @param {number[]} right columns of numbers
 */
function table(heading, rows, right = []) {
  const row = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [row(heading), row(heading.map((_, at) => (right.includes(at) ? '---:' : '---'))), ...rows.map(row), ''];
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return undefined;
  }
}
