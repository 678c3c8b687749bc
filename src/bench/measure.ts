import { median } from '../device/median.js';
import { MillraceError } from '../kernel/error.js';

/** Measures one candidate: `warmup` runs that do not count, then `runs` that do. */
export async function measure(candidate: Candidate, clock: Clock = wallClock): Promise<Measurement> {
  const { measurements } = await compare([candidate], { clock });
  const [only] = measurements;
  if (only === undefined) throw new Error('compare() must return one measurement per candidate');
  return only;
}

/**
 * Measures several candidates in alternation: run 1 of each, then run 2 of each … so that heat, throttling and other
 * programs affect all of them alike, and their ratios are fair. All have the same number of runs, the largest requested.
 */
export async function compare(
  candidates: readonly Candidate[],
  { clock = wallClock, onFailed }: CompareOptions = {},
): Promise<Comparison> {
  const runs = Math.max(...candidates.map((candidate) => candidate.runs ?? DEFAULT_RUNS));
  if (!(runs >= MIN_RUNS)) {
    throw new MillraceError({
      code: 'usage',
      message: `${runs} runs are too few for a median and a spread`,
      asked: `a measurement with ${runs} runs`,
      advice: `use ${MIN_RUNS} or more`,
    });
  }
  const all = candidates.map((candidate) => new CandidateRuns(candidate));
  let series = all;
  const attempt = async (one: CandidateRuns, action: () => Promise<void>): Promise<void> => {
    if (!series.includes(one)) return;
    try {
      await action();
    } catch (error) {
      if (!onFailed || one === all[0] || !(error instanceof MillraceError)) throw error;
      onFailed(one.candidate.name, error);
      series = series.filter((other) => other !== one);
    }
  };
  for (const one of all) {
    for (let run = 0; run < (one.candidate.warmup ?? 1); run += 1) await attempt(one, () => one.warm());
  }
  for (let run = 0; run < runs; run += 1) {
    for (const one of all) await attempt(one, () => one.run(clock));
  }
  const rates = series.map((candidate) => candidate.rates);
  const [base = []] = rates;
  return {
    measurements: series.map((candidate) => candidate.measurement()),
    ratios: rates.map((own) => spreadOf(own.map((value, run) => value / (base[run] ?? Number.NaN)))),
  };
}

export interface CompareOptions {
  readonly clock?: Clock;
  /** Told of a candidate that failed: the others are measured without it. The first must not fail, and none by default. */
  readonly onFailed?: (name: string, error: MillraceError) => void;
}

export interface Candidate {
  readonly name: string;
  /** Unit of work: `H` for hashes, `B` for bytes. */
  readonly unit: string;
  /** Runs before the first that counts; default 1. */
  readonly warmup?: number;
  /** Default 5, at least 3. */
  readonly runs?: number;
  readonly run: () => Promise<Run>;
}

export interface Run {
  /** Seconds of the run, if it measures them more exactly than the clock around it. */
  readonly seconds?: number;
  /** Work done, in units. */
  readonly work: number;
  /** Digest of all results. Must be the same in every run: a fast wrong answer is not a measurement. */
  readonly digest: string;
}

export interface Measurement {
  readonly name: string;
  readonly unit: string;
  readonly runs: number;
  readonly seconds: Spread;
  /** Units per second. */
  readonly rate: Spread;
  /** The rate of each run, in order. */
  readonly rates: readonly number[];
  readonly digest: string;
}

export interface Comparison {
  readonly measurements: readonly Measurement[];
  /** Each candidate's rate divided by the first one's, run by run. The first's own is 1. */
  readonly ratios: readonly Spread[];
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** (max − min) / median. */
  readonly relative: number;
}

/** Seconds from an arbitrary origin. */
export type Clock = () => number;

export const DEFAULT_RUNS = 5;
/** Fewer have no median worth the name. */
export const MIN_RUNS = 3;

export function spreadOf(values: readonly number[]): Spread {
  const middle = median(values);
  const [min, max] = values.length === 0 ? [Number.NaN, Number.NaN] : [Math.min(...values), Math.max(...values)];
  return { median: middle, min, max, relative: (max - min) / middle };
}

const wallClock: Clock = () => performance.now() / 1000;

/** One candidate's runs. */
class CandidateRuns {
  readonly candidate: Candidate;
  readonly rates: number[] = [];
  readonly #seconds: number[] = [];
  #digest: string | undefined;

  constructor(candidate: Candidate) {
    this.candidate = candidate;
  }

  async warm(): Promise<void> {
    this.#checkDigest(await this.candidate.run());
  }

  async run(clock: Clock): Promise<void> {
    const start = clock();
    const result = await this.candidate.run();
    const seconds = result.seconds ?? clock() - start;
    this.#checkDigest(result);
    this.#seconds.push(seconds);
    this.rates.push(result.work / seconds);
  }

  measurement(): Measurement {
    const { name, unit } = this.candidate;
    const seconds = spreadOf(this.#seconds);
    const { rates } = this;
    return { name, unit, runs: rates.length, seconds, rate: spreadOf(rates), rates, digest: this.#digest ?? '' };
  }

  #checkDigest({ digest }: Run): void {
    this.#digest ??= digest;
    if (digest === this.#digest) return;
    throw new MillraceError({
      code: 'device-failed',
      message: `${this.candidate.name}: two runs gave different results (${this.#digest} and ${digest})`,
      asked: `a measurement of ${this.candidate.name}`,
      advice: 'run `millrace selftest`; a figure for wrong results is worth nothing',
    });
  }
}
