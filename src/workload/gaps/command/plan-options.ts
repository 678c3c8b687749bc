import type { Command } from 'commander';
import { flag, valued, wholeNumber } from '../../../console/options/options.js';
import type { FeedingOptions } from '../../../console/options/pipeline-options.js';
import type { Output } from '../../../console/output/output.js';
import type { Device } from '../../../device/device.js';
import {
  DEFAULT_DEPTH,
  DEFAULT_PRIMES,
  LEAST_PRIMES,
  MOST_PRIMES,
  MOST_WINDOW,
  type PlanOptions,
} from '../kernel/plan.js';
import { MOST_DEPTH } from '../kernel/sieve-kernels.js';

/** How it is searched, as the command line says it. */
export interface PlanGiven {
  readonly window?: number;
  readonly primes?: number;
  readonly batchDepth?: number;
  readonly sieveSize?: number;
  readonly sievePrimes?: number;
  readonly workItems?: number;
  readonly queueSize?: number;
  readonly numGpuTests?: number;
  readonly cudaSieveProto?: boolean;
}

/** Gives a command the options of how it searches; the miners' names do as well. */
export function withPlanOptions(command: Command): Command {
  const size = wholeNumber(64, MOST_WINDOW);
  const primes = wholeNumber(LEAST_PRIMES, MOST_PRIMES);
  return command
    .addOption(valued('--window <n>', 'integers sieved at a time (default: what suits the device)').argParser(size))
    .addOption(valued('--primes <n>', `primes to sieve with (default: ${DEFAULT_PRIMES})`).argParser(primes))
    .addOption(
      valued('--batch-depth <n>', `windows of one piece at most (default: ${DEFAULT_DEPTH})`).argParser(
        wholeNumber(1, MOST_DEPTH),
      ),
    )
    .addOption(valued('-s, --sieve-size <n>', '--window').argParser(size).hideHelp())
    .addOption(valued('-i, --sieve-primes <n>', '--primes').argParser(primes).hideHelp())
    .addOption(
      valued('-w, --work-items <n>', 'chains in flight, in groups of 512')
        .argParser(wholeNumber(1, 2 ** 20))
        .hideHelp(),
    )
    .addOption(valued('-z, --queue-size <n>', '--slots').argParser(wholeNumber(1, 32)).hideHelp())
    .addOption(
      valued('-n, --num-gpu-tests <n>', 'how long chains are: 64 candidates for each')
        .argParser(wholeNumber(1, 2 ** 16))
        .hideHelp(),
    )
    .addOption(flag('--cuda-sieve-proto', "insist on a GPU's sieve: warn where there is none").hideHelp());
}

/** The same for a search. */
export function planGiven(given: PlanGiven): PlanOptions & { readonly primes?: number } {
  const { window = given.sieveSize, primes = given.sievePrimes, batchDepth: depth, workItems, numGpuTests } = given;
  return {
    ...(window !== undefined && { window }),
    ...(primes !== undefined && { primes }),
    ...(depth !== undefined && { depth }),
    ...(workItems !== undefined && { threads: workItems * GROUP }),
    ...(numGpuTests !== undefined && { perChain: numGpuTests * TESTED }),
  };
}
/** Miners count work items in groups of so many, and take 8 tests of a part at a time, where ours has 512 candidates. */
const GROUP = 512;
const TESTED = 64;

/** `-z` is `--slots`. */
export function feedingGiven(given: PlanGiven & FeedingOptions): FeedingOptions {
  const { slots = given.queueSize } = given;
  return slots === undefined ? given : { ...given, slots };
}

export function warnWithoutGpu({ cudaSieveProto }: PlanGiven, output: Output, devices: readonly Device[]): void {
  if (cudaSieveProto && devices.every(({ info }) => info.processor === 'cpu'))
    output.warn('there is no GPU: the processor sieves, with the same results');
}
