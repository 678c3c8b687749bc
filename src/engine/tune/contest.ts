import { median } from '../../device/median.js';
import { firstLine, MillraceError } from '../../kernel/error.js';

/**
 * Finds the fastest of several ways to do the same work, with as few runs as the noise allows. All remaining entrants
 * run once per round, in turns, so that heat or other load on the machine affects them alike. The first entrant is the
 * present way; it runs in every round, and the others are judged by their ratio to it. Entrants that cannot win are
 * discarded. Sampling ends when one is significantly better, when none can be, or after the maximum of rounds. A tie
 * keeps the first.
 */
export async function runContest(entrants: readonly Entrant[], options: ContestOptions = {}): Promise<ContestResult> {
  const { rounds: maxRounds = MAX_ROUNDS, minRounds = MIN_ROUNDS, isOver = () => false, onRound } = options;
  const runners = entrants.map((entrant) => new EntrantRuns(entrant));
  const [first, ...others] = runners;
  if (first === undefined) throw new RangeError('a contest needs at least one entrant');
  let round = 0;
  let prior = PRIOR_SCATTER;
  for (; round < maxRounds && others.some(({ isActive }) => isActive); round++) {
    if (round > 0 && isOver()) break;
    const now = [first, ...others.filter(({ isActive }) => isActive)];
    const digest = await first.run(round);
    const before = first.rates.at(-1) ?? Number.NaN;
    // Reversed in every second round: the last entrant would always have the warmest machine.
    const rest = now.slice(1);
    for (const runner of round % 2 === 0 ? rest : rest.reverse()) {
      const own = await runner.tryRun(round);
      if (own !== undefined && own !== digest) throw disagreementError(first.name, runner.name, digest, own);
    }
    // Runs the first again: two runs of the same entrant give a first estimate of the scatter.
    if (round === 0 && others.some(({ isActive }) => isActive)) {
      prior = Math.max(PRIOR_SCATTER, Math.abs(Math.log((await first.rerun(round)) / before)));
    }
    onRound?.(round + 1, now.length);
    const uncertainty = uncertaintyAfter(others, first.rates, prior);
    discard(others, first.rates, uncertainty, round + 1);
    const [only, second] = others.filter(({ isActive }) => isActive);
    if (only && !second && round + 1 >= minRounds && only.gainOver(first.rates) - uncertainty > MIN_GAIN) {
      round++;
      break;
    }
  }
  return {
    rounds: round,
    winner: winnerOf(others, first.rates, uncertaintyAfter(others, first.rates, prior)),
    standings: runners.map((runner) => runner.standing(first.rates)),
  };
}

/** One way to do the work. */
export interface Entrant {
  /** Display name: `lanes 512`. */
  readonly name: string;
  /** Rounds are numbered from 0. All entrants do the same work in one round. */
  run(round: number): Promise<Sample>;
}

export interface Sample {
  readonly work: number;
  readonly seconds: number;
  /** Digest of all results. Equal for all entrants in a round. */
  readonly digest: string;
}

export interface ContestOptions {
  /** Default 8. */
  readonly rounds?: number;
  /** Minimum rounds before an entrant can win. Default 3. */
  readonly minRounds?: number;
  /** Called between rounds. If true, the contest ends with what is known. */
  readonly isOver?: () => boolean;
  readonly onRound?: (round: number, runs: number) => void;
}

export interface ContestResult {
  readonly rounds: number;
  /** Index of the winner. 0 if no entrant was better than the first. */
  readonly winner: number;
  readonly standings: readonly EntrantResult[];
}

export interface EntrantResult {
  readonly name: string;
  /** Work and seconds of each run: one per round, but two of the first entrant in the first round. */
  readonly samples: readonly (readonly [work: number, seconds: number])[];
  /** Its rate divided by the first entrant's. Undefined without a run. */
  readonly gain: number | undefined;
  /** The round after which it was discarded. */
  readonly discarded?: number;
  /** Why the device cannot run it. */
  readonly unfit?: string;
}

const MAX_ROUNDS = 8;
const MIN_ROUNDS = 3;
/** A gain below 1 % is not worth another setting. */
const MIN_GAIN = Math.log(1.01);
/** A difference beyond this many standard errors is significant. */
const SIGNIFICANT_ERRORS = 2;
/** Assumed minimum scatter of runs before it is measured, and the minimum accepted once it is. */
const PRIOR_SCATTER = 0.2;
const MIN_SCATTER = 0.002;
/** Number of rounds after which the measured scatter is used alone. */
const ENOUGH_ROUNDS = 4;

/** Errors of a setting that the device does not support: no memory, too many threads, more than its compiler takes. */
const UNSUPPORTED: ReadonlySet<string> = new Set([
  'device-memory',
  'device-capability',
  'device-compile',
  'kernel-budget',
]);

/** Returns why a device does not support a setting. Undefined for any other error. */
export function unsupportedReason(error: unknown): string | undefined {
  if (!(error instanceof MillraceError) || !UNSUPPORTED.has(error.code)) return undefined;
  return firstLine(error);
}

class EntrantRuns {
  readonly name: string;
  readonly rates: number[] = [];
  readonly #entrant: Entrant;
  readonly #samples: [number, number][] = [];
  #discarded: number | undefined;
  #unfit: string | undefined;

  constructor(entrant: Entrant) {
    this.#entrant = entrant;
    this.name = entrant.name;
  }

  get isActive(): boolean {
    return this.#discarded === undefined && this.#unfit === undefined;
  }

  async run(round: number): Promise<string> {
    const { work, seconds, digest } = await this.#entrant.run(round);
    this.#samples.push([work, seconds]);
    this.rates.push(work / seconds);
    return digest;
  }

  /** Repeats the round's run and returns its rate. The round's rate becomes the geometric mean of both. */
  async rerun(round: number): Promise<number> {
    const { work, seconds } = await this.#entrant.run(round);
    this.#samples.push([work, seconds]);
    this.rates[round] = Math.sqrt((this.rates[round] ?? Number.NaN) * (work / seconds));
    return work / seconds;
  }

  /** Runs a round. Returns undefined if the device does not support the setting. */
  async tryRun(round: number): Promise<string | undefined> {
    try {
      return await this.run(round);
    } catch (error) {
      this.#unfit = unsupportedReason(error);
      if (this.#unfit === undefined) throw error;
      return undefined;
    }
  }

  discard(round: number): void {
    this.#discarded = round;
  }

  /** Returns the logarithm of its rate divided by another's, run by run. */
  ratios(rates: readonly number[]): number[] {
    return this.rates.map((rate, at) => Math.log(rate / (rates[at] ?? Number.NaN)));
  }

  /** Returns the median ratio, which one disturbed run does not move. */
  gainOver(rates: readonly number[]): number {
    return median(this.ratios(rates));
  }

  standing(rates: readonly number[]): EntrantResult {
    return {
      name: this.name,
      samples: this.#samples,
      gain: this.rates.length === 0 ? undefined : Math.exp(this.gainOver(rates)),
      ...(this.#discarded !== undefined && { discarded: this.#discarded }),
      ...(this.#unfit !== undefined && { unfit: this.#unfit }),
    };
  }
}

/**
 * Returns the uncertainty of a ratio. The runs of all entrants scatter alike, so the estimate uses all of them
 * together. Before there are enough rounds, one more sample with the prior scatter is added.
 */
function uncertaintyAfter(runners: readonly EntrantRuns[], first: readonly number[], prior: number): number {
  const rounds = first.length;
  let [sum, freedom] = rounds < ENOUGH_ROUNDS ? [prior ** 2, 1] : [0, 0];
  for (const runner of runners) {
    const ratios = runner.ratios(first);
    if (ratios.length < 2) continue;
    const mean = ratios.reduce((total, ratio) => total + ratio, 0) / ratios.length;
    sum += ratios.reduce((total, ratio) => total + (ratio - mean) ** 2, 0);
    freedom += ratios.length - 1;
  }
  const scatter = freedom === 0 ? prior : Math.max(MIN_SCATTER, Math.sqrt(sum / freedom));
  return (SIGNIFICANT_ERRORS * scatter) / Math.sqrt(Math.max(1, rounds));
}

/** Discards entrants that can neither reach the best nor gain enough over the first. */
function discard(runners: readonly EntrantRuns[], first: readonly number[], uncertainty: number, round: number): void {
  const left = runners.filter(({ isActive }) => isActive);
  const best = Math.max(MIN_GAIN, ...left.map((runner) => runner.gainOver(first)));
  for (const runner of left) if (runner.gainOver(first) + uncertainty < best) runner.discard(round);
}

function winnerOf(runners: readonly EntrantRuns[], first: readonly number[], uncertainty: number): number {
  let [winner, best] = [0, Math.max(MIN_GAIN, uncertainty)];
  for (const [at, runner] of runners.entries()) {
    const gain = runner.isActive && runner.rates.length > 0 ? runner.gainOver(first) : Number.NEGATIVE_INFINITY;
    if (gain > best) [winner, best] = [at + 1, gain];
  }
  return winner;
}

export function disagreementError(first: string, other: string, digest: string, own: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `candidate ${other} and ${first} give different results for the same work: ${own} and ${digest}`,
    asked: 'the fastest of several candidates whose results are the same, bit for bit',
    advice: 'run `millrace selftest`; nothing was stored',
  });
}
