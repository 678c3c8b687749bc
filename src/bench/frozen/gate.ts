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
/** Maximum probability of a false alarm per measurement of a figure. */
const MAX_CHANCE = 0.001;
/** Pairs are added in steps of `PAIRS`, up to `MAX_PAIRS`, until the result is clear. A busy machine needs more. */
const PAIRS = 24;
const MAX_PAIRS = 384;
/** Above this probability the figure is kept without further pairs. */
const KEPT_CHANCE = 0.99;
/** Processor time of a run: far above the clock's resolution, and short enough for many pairs. */
const RUN_SECONDS = 0.02;

export interface GateOptions {
  /** Simulates a loss of a tenth: today's kernel does 10 runs for each 9 that count. */
  readonly isSlowed?: boolean;
}

/**
 * Runs two recordings in alternation on a device with one thread, and compares the processor time that this process has
 * used. Unlike elapsed time, it does not include other processes. With seven busy programs per core, 24 pairs of the same
 * kernel had quartiles within 2 % (Neoverse-N1).
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
    const times = 9 * Math.max(1, Math.ceil(RUN_SECONDS / once / 9));
    const timesNow = isSlowed ? (times / 9) * 10 : times;
    const ratios: number[] = [];
    let chance = Number.NaN;
    for (let pair = 0; pair < MAX_PAIRS; pair++) {
      const isOursFirst = pair % 2 === 0;
      const early = isOursFirst ? await runSeconds(ours, timesNow) : await runSeconds(theirs, times);
      const late = isOursFirst ? await runSeconds(theirs, times) : await runSeconds(ours, timesNow);
      ratios.push(isOursFirst ? late / early : early / late);
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
