import { median } from '../../device/median.js';
import type { Overlap } from '../../engine/overlap.js';
import type { Busy } from './rate.js';

/** The value at a share of a sorted list, between neighbours in proportion: NumPy's default. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}

/** What a run of the benchmark is told as. */
export interface BenchReport {
  readonly date: Date;
  readonly commit: string | undefined;
  readonly device: string;
  readonly driver: string | undefined;
  readonly runtime: string | undefined;
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Vectors a second of each trial. */
  readonly trials: readonly number[];
  /** The same by another way, in turn with it. */
  readonly against?: { readonly name: string; readonly trials: readonly number[] };
  /** Of each trial, where it is known. */
  readonly busy?: Busy | undefined;
}

/** The report in Markdown; what is not known reads "unknown". Latency is that of a vector in a full pipeline. */
export function reportText(report: BenchReport): string {
  const { date, commit, device, driver, runtime, parameters, trials, against, busy } = report;
  const known = (text: string | undefined): string => text ?? 'unknown';
  return [
    '# millrace bench encode',
    '',
    `- Date: ${date.toISOString()}`,
    `- Git commit: ${known(commit?.slice(0, 12))}`,
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
    ...tableOf(trials),
    ...(busy ? busyLines(busy) : []),
    ...(against
      ? [
          `## ${against.name}, by turns with it`,
          '',
          ...tableOf(against.trials),
          `Ratio of the medians: ${(median(trials) / median(against.trials)).toFixed(2)}`,
          '',
        ]
      : []),
  ].join('\n');
}

/** Medians of the trials. */
function busyLines({ overlaps, lengthRatio, processors }: Busy): string[] {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const middle = (of: (overlap: Overlap) => number): string => percent(median(overlaps.map(of)));
  return [
    `- copying: ${middle(({ copyBusy }) => copyBusy)} of the time`,
    `- encoding: ${middle(({ computeBusy }) => computeBusy)} of the time`,
    `- overlap: ${middle(({ hidden }) => hidden)} of the shorter of the two goes on beside the other`,
    `- lengths: one is ${percent(lengthRatio)} of the other (what others call overlap)`,
    `- processor time ÷ time: ${processors.toFixed(2)}`,
    '',
  ];
}

function tableOf(trials: readonly number[]): string[] {
  const latencies = trials.map((perSecond) => 1000 / perSecond);
  return [
    '| Metric | Median | P95 |',
    '| --- | --- | --- |',
    `| Throughput (vectors/sec) | ${median(trials).toFixed(1)} | ${percentile(trials, 0.95).toFixed(1)} |`,
    `| Latency (ms/vector) | ${median(latencies).toFixed(3)} | ${percentile(latencies, 0.95).toFixed(3)} |`,
    '',
  ];
}

/** `<prefix>_<yyyymmdd>_rep_config.md` */
export const reportName = (prefix: string, date: Date): string =>
  `${prefix}_${date.toISOString().slice(0, 10).replaceAll('-', '')}_rep_config.md`;
