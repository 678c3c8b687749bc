import { spreadOf } from '../measure.js';
import { signedRankBelow } from './rank.js';
import type { Recording } from './recording.js';
import { openReplay, type Replay, type TextDevice } from './replay.js';

/** How the kernels of today compare with frozen ones. */
export interface GateVerdict {
  /** Rate of today over the frozen rate, pair by pair. */
  readonly ratios: readonly number[];
  readonly median: number;
  /** How likely such ratios are if no more than `MAX_LOSS` was lost. */
  readonly chance: number;
  readonly isLost: boolean;
}

/** A loss of a tenth is to be told, none at all is not: the line is in the middle. */
export const MAX_LOSS = 0.05;
/** Of a wrong alarm, each time that a figure is measured. */
const MAX_CHANCE = 0.001;
/** As many again, up to `MAX_PAIRS`, while neither answer is likely: a busy machine needs more of them. */
const PAIRS = 24;
const MAX_PAIRS = 96;
/** That no more than `MAX_LOSS` was lost, when no further pairs are needed to say so. */
const KEPT_CHANCE = 0.5;
/** Of the processor, for each run: far above the clock's grain, far below what a person waits for. */
const RUN_SECONDS = 0.02;

export interface GateOptions {
  /** Makes today's side do 10 runs for each 9 that count, as a kernel does that has become slower by a tenth. */
  readonly isSlowed?: boolean;
}

/**
 * Runs two recordings in turn on a device with one thread, and compares the processor time that this process has used:
 * unlike the clock's, it does not count what other processes do meanwhile. With seven busy programs for each core, 24 pairs
 * of the same kernel had quartiles within 2 % (Neoverse-N1).
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

/** Also warms up, and sees that each run gives the same. */
async function minRunSeconds(replay: Replay): Promise<number> {
  const { digest } = await replay.run(1);
  let min = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run++) {
    const before = processorSeconds();
    const again = await replay.run(1);
    min = Math.min(min, processorSeconds() - before);
    if (again.digest !== digest) throw new Error('two runs of one recording gave different results');
  }
  return Math.max(min, 1e-5);
}

async function runSeconds(replay: Replay, times: number): Promise<number> {
  const before = processorSeconds();
  await replay.run(times);
  return processorSeconds() - before;
}

/** Of all threads of this process. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
