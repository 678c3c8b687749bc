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

/** Plan options from the command line. */
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

/** Adds the plan options to a command, including the miners' names for them. */
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

/** Converts the command line's options to a plan's. */
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
/** Miners count work items in groups of 512, and 8 tests at a time, which correspond to chains of 512 candidates here. */
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
