import { median } from '../../../device/median.js';
import type { Overlap } from '../../../engine/telemetry/overlap.js';
import type { BusUsage } from './rate.js';

/** Returns a percentile by linear interpolation between neighbours, NumPy's default. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}

/** The content of a report of the benchmark. */
export interface BenchReport {
  readonly date: Date;
  readonly commit: string | undefined;
  /** Version and digest of the sources, known even if the commit is not. */
  readonly build: string;
  readonly device: string;
  readonly driver: string | undefined;
  readonly runtime: string | undefined;
  readonly parameters: Readonly<Record<string, string | number>>;
  readonly results: Results;
  /** Notes on the results, one line each. */
  readonly notes?: readonly string[];
  /** The same requests submitted in other ways, in alternation. */
  readonly others?: readonly (Results & { readonly name: string })[];
  /** Undefined if not measured. */
  readonly busy?: BusUsage | undefined;
}

export interface Results {
  /** Vectors per second of each trial. */
  readonly trials: readonly number[];
  /** Milliseconds from call to states of each request, keyed by how requests were made. */
  readonly latencies: Readonly<Record<string, readonly number[]>>;
}

/** The report in Markdown. Unknown values read "unknown". */
export function reportText(report: BenchReport): string {
  const { date, commit, build, device, driver, runtime, parameters, results, notes = [], others = [], busy } = report;
  const known = (text: string | undefined): string => text ?? 'unknown';
  return [
    '# millrace bench encode',
    '',
    `- Date: ${date.toISOString()}`,
    `- Git commit: ${known(commit)}`,
    `- Build: ${build}`,
    `- GPU: ${device}`,
    `- Driver: ${known(driver)}`,
    `- CUDA: ${known(runtime)}`,
    '',
    '## Parameters',
    '',
    ...Object.entries(parameters).map(([name, value]) => `- ${name}: ${value}`),
    '',
    '## Results',
    '',
    ...tableOf(results),
    ...(notes.length > 0 ? [...notes.map((note) => `- ${note}`), ''] : []),
    ...(busy ? busyLines(busy) : []),
    ...others.flatMap((other) => [
      `## ${other.name}, by turns with it`,
      '',
      ...tableOf(other),
      `Ratio, trial by trial: ${ratioOf(results.trials, other.trials).toFixed(2)}`,
      '',
    ]),
  ].join('\n');
}

/** Returns the median ratio of consecutive trials: other load on the machine slows down both. */
const ratioOf = (ours: readonly number[], others: readonly number[]): number =>
  median(ours.map((one, trial) => one / (others[trial] ?? Number.NaN)));

/** Medians of the trials. */
function busyLines({ overlaps, lengthRatio, processors }: BusUsage): string[] {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const middle = (of: (overlap: Overlap) => number): string => percent(median(overlaps.map(of)));
  return [
    `- copying: ${middle(({ copyBusy }) => copyBusy)} of the time`,
    `- encoding: ${middle(({ computeBusy }) => computeBusy)} of the time`,
    `- overlap: ${middle(({ hidden }) => hidden)} of the shorter of the two runs during the other`,
    `- lengths: one is ${percent(lengthRatio)} of the other (other programs call this overlap)`,
    `- processor time ÷ time: ${processors.toFixed(2)}`,
    '',
  ];
}

/** Throughput, measured latencies, and the time of a vector in a full pipeline, which other reports call latency. */
function tableOf({ trials, latencies }: Results): string[] {
  const row = (name: string, values: readonly number[], digits: number): string =>
    `| ${name} | ${median(values).toFixed(digits)} | ${percentile(values, 0.95).toFixed(digits)} |`;
  return [
    '| Metric | Median | P95 |',
    '| --- | --- | --- |',
    row('Throughput (vectors/sec)', trials, 1),
    ...Object.entries(latencies).map(([name, values]) => row(`Latency (ms/request), ${name}`, values, 3)),
    row(
      '1 ÷ throughput (ms/vector)',
      trials.map((perSecond) => 1000 / perSecond),
      3,
    ),
    '',
  ];
}

/** `<prefix>_<yyyymmdd>_rep_config.md` */
export const reportName = (prefix: string, date: Date): string =>
  `${prefix}_${date.toISOString().slice(0, 10).replaceAll('-', '')}_rep_config.md`;
