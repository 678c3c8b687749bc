import { median } from '../../device/median.js';
import { firstLine, MillraceError } from '../../kernel/error.js';

/**
 * Which of several ways to do the same work is fastest, with as few runs as the noise allows. All that are left run once a
 * round, in turns, so that a machine that heats up or gets company treats them alike; the first, the way it is done now,
 * runs in every round, and the others are judged by their ratio to it. Who cannot win any more is left out: the sampling
 * ends when one is better beyond doubt, when none can be, or after so many rounds. A tie keeps the first.
 */
export async function contest(entrants: readonly Entrant[], options: ContestOptions = {}): Promise<Contest> {
  const { rounds: most = MOST_ROUNDS, least = LEAST_ROUNDS, isOver = () => false, onRound } = options;
  const runners = entrants.map((entrant) => new Runner(entrant));
  const [first, ...others] = runners;
  if (first === undefined) throw new RangeError('a contest needs somebody to take part');
  let round = 0;
  let prior = PRIOR;
  for (; round < most && others.some(({ isLeft }) => isLeft); round++) {
    if (round > 0 && isOver()) break;
    const now = [first, ...others.filter(({ isLeft }) => isLeft)];
    const digest = await first.run(round);
    const before = first.rates.at(-1) ?? Number.NaN;
    // The other way round every second time: whoever is always last would always have the warmest machine.
    const rest = now.slice(1);
    for (const runner of round % 2 === 0 ? rest : rest.reverse()) {
      const own = await runner.tryRun(round);
      if (own !== undefined && own !== digest) throw disagreement(first.name, runner.name, digest, own);
    }
    // The first once more: two runs of the same are a first idea of how much runs scatter.
    if (round === 0 && others.some(({ isLeft }) => isLeft)) {
      prior = Math.max(PRIOR, Math.abs(Math.log((await first.again(round)) / before)));
    }
    onRound?.(round + 1, now.length);
    const doubt = doubtAfter(others, first.rates, prior);
    discard(others, first.rates, doubt, round + 1);
    const [only, second] = others.filter(({ isLeft }) => isLeft);
    if (only && !second && round + 1 >= least && only.gainOver(first.rates) - doubt > LEAST_GAIN) {
      round++;
      break;
    }
  }
  return {
    rounds: round,
    winner: winnerOf(others, first.rates, doubtAfter(others, first.rates, prior)),
    standings: runners.map((runner) => runner.standing(first.rates)),
  };
}

/** One way to do the work. */
export interface Entrant {
  /** For people: `lanes 512`. */
  readonly name: string;
  /** Rounds are numbered from 0; in one round all do the same work. */
  run(round: number): Promise<Sample>;
}

export interface Sample {
  readonly work: number;
  readonly seconds: number;
  /** Stands for all results: the same for all in a round. */
  readonly digest: string;
}

export interface ContestOptions {
  /** Default 8. */
  readonly rounds?: number;
  /** Rounds before which nobody has won; default 3. */
  readonly least?: number;
  /** Asked between rounds: ends it with what is known. */
  readonly isOver?: () => boolean;
  readonly onRound?: (round: number, runs: number) => void;
}

export interface Contest {
  readonly rounds: number;
  /** Which one; 0 where nobody was better than the first. */
  readonly winner: number;
  readonly standings: readonly Standing[];
}

export interface Standing {
  readonly name: string;
  /** Work and seconds of each run: one a round, of the first two in the first. */
  readonly samples: readonly (readonly [work: number, seconds: number])[];
  /** Its rate over the first one's; undefined without a run. */
  readonly gain: number | undefined;
  /** After which round it was left out. */
  readonly discarded?: number;
  /** Why it could not run here. */
  readonly unfit?: string;
}

const MOST_ROUNDS = 8;
const LEAST_ROUNDS = 3;
/** What is gained by less is not worth another setting: 1 %. */
const LEAST_GAIN = Math.log(1.01);
/** Beside two standard errors, a difference is beyond doubt. */
const ERRORS = 2;
/** What runs are taken to scatter by, at least, before that is known, and the least that is believed. */
const PRIOR = 0.2;
const LEAST_SCATTER = 0.002;
/** From so many rounds on they speak for themselves. */
const ENOUGH_ROUNDS = 4;

/** Errors that say that a device cannot do it so: no memory, too many threads, more than its compiler takes. */
const UNFIT: ReadonlySet<string> = new Set(['device-memory', 'device-capability', 'device-compile', 'kernel-budget']);

/** Why a device cannot do it so; undefined where the error is none of that sort. */
export function unfitness(error: unknown): string | undefined {
  if (!(error instanceof MillraceError) || !UNFIT.has(error.code)) return undefined;
  return firstLine(error);
}

class Runner {
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

  get isLeft(): boolean {
    return this.#discarded === undefined && this.#unfit === undefined;
  }

  async run(round: number): Promise<string> {
    const { work, seconds, digest } = await this.#entrant.run(round);
    this.#samples.push([work, seconds]);
    this.rates.push(work / seconds);
    return digest;
  }

  /** The round's run once more: its rate, of which both are then the mean. */
  async again(round: number): Promise<number> {
    const { work, seconds } = await this.#entrant.run(round);
    this.#samples.push([work, seconds]);
    this.rates[round] = Math.sqrt((this.rates[round] ?? Number.NaN) * (work / seconds));
    return work / seconds;
  }

  /** Undefined where the device cannot do it. */
  async tryRun(round: number): Promise<string | undefined> {
    try {
      return await this.run(round);
    } catch (error) {
      this.#unfit = unfitness(error);
      if (this.#unfit === undefined) throw error;
      return undefined;
    }
  }

  discard(round: number): void {
    this.#discarded = round;
  }

  /** The logarithm of its rate over another's, run by run. */
  ratios(rates: readonly number[]): number[] {
    return this.rates.map((rate, at) => Math.log(rate / (rates[at] ?? Number.NaN)));
  }

  /** The median: one disturbed run does not move it. */
  gainOver(rates: readonly number[]): number {
    return median(this.ratios(rates));
  }

  standing(rates: readonly number[]): Standing {
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
 * How far a ratio may be off. Runs of all scatter alike, so that all of them together tell by how much; before there are
 * enough, one more is imagined that scatters as widely as it seemed at first.
 */
function doubtAfter(runners: readonly Runner[], first: readonly number[], prior: number): number {
  const rounds = first.length;
  let [sum, freedom] = rounds < ENOUGH_ROUNDS ? [prior ** 2, 1] : [0, 0];
  for (const runner of runners) {
    const ratios = runner.ratios(first);
    if (ratios.length < 2) continue;
    const mean = ratios.reduce((all, one) => all + one, 0) / ratios.length;
    sum += ratios.reduce((all, one) => all + (one - mean) ** 2, 0);
    freedom += ratios.length - 1;
  }
  const scatter = freedom === 0 ? prior : Math.max(LEAST_SCATTER, Math.sqrt(sum / freedom));
  return (ERRORS * scatter) / Math.sqrt(Math.max(1, rounds));
}

/** Leaves out who can neither reach the best nor gain enough over the first. */
function discard(runners: readonly Runner[], first: readonly number[], doubt: number, round: number): void {
  const left = runners.filter(({ isLeft }) => isLeft);
  const best = Math.max(LEAST_GAIN, ...left.map((runner) => runner.gainOver(first)));
  for (const runner of left) if (runner.gainOver(first) + doubt < best) runner.discard(round);
}

function winnerOf(runners: readonly Runner[], first: readonly number[], doubt: number): number {
  let [winner, most] = [0, Math.max(LEAST_GAIN, doubt)];
  for (const [at, runner] of runners.entries()) {
    const gain = runner.isLeft && runner.rates.length > 0 ? runner.gainOver(first) : Number.NEGATIVE_INFINITY;
    if (gain > most) [winner, most] = [at + 1, gain];
  }
  return winner;
}

export function disagreement(first: string, other: string, digest: string, own: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `candidate ${other} does not give what ${first} gives for the same work: ${own} instead of ${digest}`,
    asked: 'the fastest of several ways that must agree bit for bit',
    advice: 'run `millrace selftest`; nothing was kept',
  });
}
