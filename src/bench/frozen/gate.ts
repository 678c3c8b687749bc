import { spreadOf } from '../measure.js';
import { signedRankBelow } from './rank.js';
import type { Recording } from './recording.js';
import { openReplay, type Replay, type TextDevice } from './replay.js';

/** How today's kernels compare with frozen ones. */
export interface GateVerdict {
  /** Today's rate divided by the frozen rate, pair by pair. */
  readonly ratios: readonly number[];
  readonly median: number;
  /** Probability of ratios this low if at most `MAX_LOSS` was lost. */
  readonly chance: number;
  readonly isLost: boolean;
}

/** Halfway between no loss and a tenth, which must be detected. */
export const MAX_LOSS = 0.05;
/** Maximum probability of a false alarm each time that the pairs so far are tested. */
const MAX_CHANCE = 0.001;
/** Pairs are added in steps of `PAIRS`, up to `MAX_PAIRS`, until the result is clear. A busy machine needs more. */
const PAIRS = 12;
const MAX_PAIRS = 192;
/** Above this probability the figure is kept without further pairs. */
const KEPT_CHANCE = 0.99;
/**
 * Each pair is the sum of this many short runs per side, in alternation: the machine's speed changes within a few
 * milliseconds when it is busy, and must change for both sides. With four busy programs on two cores the quartiles of
 * pairs were 3.5 % apart, those of two long runs 9 % (Xeon).
 */
const TURNS = 9;
/** Minimum processor time of each side of a pair: far above the clock's resolution, and short enough for many pairs. */
const SIDE_SECONDS = 0.02;

export interface GateOptions {
  /** Simulates a loss of a tenth: today's kernel does 10 runs for each 9 (`TURNS`) that count. */
  readonly isSlowed?: boolean;
}

/**
 * Runs two recordings in alternation on a device with one thread, and compares the processor time that this process has
 * used. Unlike elapsed time, it does not include other processes.
 */
export async function gate(
  device: TextDevice,
  now: Recording,
  frozen: Recording,
  { isSlowed = false }: GateOptions = {},
): Promise<GateVerdict> {
  const ours = await openReplay(device, now);
  let theirs: Replay | undefined;
  try {
    theirs = await openReplay(device, frozen, haveSameData(now, frozen) ? ours.buffers : undefined);
    const once = Math.min(await minRunSeconds(ours), await minRunSeconds(theirs));
    const times = Math.max(1, Math.ceil(SIDE_SECONDS / once / TURNS));
    const ratios: number[] = [];
    let chance = Number.NaN;
    while (ratios.length < MAX_PAIRS) {
      ratios.push(await ratioOfPair(ours, theirs, times, isSlowed));
      if (ratios.length % PAIRS !== 0) continue;
      chance = signedRankBelow(ratios.map((ratio) => Math.log(ratio / (1 - MAX_LOSS))));
      if (chance < MAX_CHANCE || chance > KEPT_CHANCE) break;
    }
    const { median } = spreadOf(ratios);
    return { ratios, median, chance, isLost: median < 1 - MAX_LOSS && chance < MAX_CHANCE };
  } finally {
    theirs?.close();
    ours.close();
  }
}

/** True if both use the same buffers with the same data. */
function haveSameData(one: Recording, other: Recording): boolean {
  const used = ({ buffers, commands }: Recording) =>
    JSON.stringify([buffers, commands.filter((step) => step.do === 'write')]);
  return used(one) === used(other);
}

/** Returns the shortest of several runs. Also warms up, and checks that all runs give the same results. */
async function minRunSeconds(replay: Replay): Promise<number> {
  const { digest } = await replay.run(1);
  let min = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run++) {
    const before = processorSeconds();
    const again = await replay.run(1);
    min = Math.min(min, processorSeconds() - before);
    if (again.digest !== digest) throw new Error('two runs of the same recording gave different results');
  }
  return Math.max(min, 1e-5);
}

/** Runs both in alternation, and returns the rate of `ours` divided by that of `theirs`. */
async function ratioOfPair(ours: Replay, theirs: Replay, times: number, isSlowed: boolean): Promise<number> {
  let now = isSlowed ? await runSeconds(ours, times) : 0;
  let before = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    const isOursFirst = turn % 2 === 0;
    if (isOursFirst) now += await runSeconds(ours, times);
    before += await runSeconds(theirs, times);
    if (!isOursFirst) now += await runSeconds(ours, times);
  }
  return before / now;
}

async function runSeconds(replay: Replay, times: number): Promise<number> {
  const before = processorSeconds();
  await replay.run(times);
  return processorSeconds() - before;
}

/** Returns the processor time of all threads of this process. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
