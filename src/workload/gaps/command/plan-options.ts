import type { Command } from 'commander';
import { OF_A_WORKER, type RefusedOptions } from '../../../console/fleet/place.js';
import { flag, valueOption, wholeNumberParser } from '../../../console/options/options.js';
import type { PipelineCommandOptions } from '../../../console/options/pipeline-options.js';
import type { Output } from '../../../console/output/output.js';
import type { Device } from '../../../device/device.js';
import { DEFAULT_DEPTH, DEFAULT_PRIMES, MAX_PRIMES, MAX_WINDOW, MIN_PRIMES, type PlanOptions } from '../kernel/plan.js';
import { MAX_DEPTH } from '../kernel/sieve-kernels.js';

/** Plan options from the command line. */
export interface PlanCommandOptions {
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
  const size = wholeNumberParser(64, MAX_WINDOW);
  const primes = wholeNumberParser(MIN_PRIMES, MAX_PRIMES);
  return command
    .addOption(
      valueOption('--window <n>', 'integers sieved at a time (default: the best for the device)').argParser(size),
    )
    .addOption(valueOption('--primes <n>', `primes to sieve with (default: ${DEFAULT_PRIMES})`).argParser(primes))
    .addOption(
      valueOption('--batch-depth <n>', `windows per piece, at most (default: ${DEFAULT_DEPTH})`).argParser(
        wholeNumberParser(1, MAX_DEPTH),
      ),
    )
    .addOption(valueOption('-s, --sieve-size <n>', '--window').argParser(size).hideHelp())
    .addOption(valueOption('-i, --sieve-primes <n>', '--primes').argParser(primes).hideHelp())
    .addOption(
      valueOption('-w, --work-items <n>', 'tests in flight, in groups of 512')
        .argParser(wholeNumberParser(1, 2 ** 20))
        .hideHelp(),
    )
    .addOption(valueOption('-z, --queue-size <n>', '--slots').argParser(wholeNumberParser(1, 32)).hideHelp())
    .addOption(
      valueOption('-n, --num-gpu-tests <n>', 'search by chains of this length, in units of 64 candidates')
        .argParser(wholeNumberParser(1, 2 ** 16))
        .hideHelp(),
    )
    .addOption(flag('--cuda-sieve-proto', 'sieve on a GPU; warns if there is none').hideHelp());
}

/** On a fleet, each worker chooses the best plan for its devices. */
export const refusedPlanOptions: RefusedOptions = Object.fromEntries(
  [
    ...['window', 'primes', 'batchDepth', 'sieveSize', 'sievePrimes', 'workItems', 'queueSize', 'numGpuTests'],
    'cudaSieveProto',
  ].map((name) => [name, OF_A_WORKER]),
);

/** Converts the command line's options to a plan's. */
export function planOptionsOf(options: PlanCommandOptions): PlanOptions & { readonly primes?: number } {
  const {
    window = options.sieveSize,
    primes = options.sievePrimes,
    batchDepth: depth,
    workItems,
    numGpuTests,
  } = options;
  return {
    ...(window !== undefined && { window }),
    ...(primes !== undefined && { primes }),
    ...(depth !== undefined && { depth }),
    ...(workItems !== undefined && { threads: workItems * ITEMS_PER_GROUP }),
    ...(numGpuTests !== undefined && { perChain: numGpuTests * CANDIDATES_PER_TEST }),
  };
}
/** Miners count work items in groups of 512, and 8 tests at a time, which correspond to chains of 512 candidates here. */
const ITEMS_PER_GROUP = 512;
const CANDIDATES_PER_TEST = 64;

/** `-z` is `--slots`. */
export function pipelineOptionsOf(options: PlanCommandOptions & PipelineCommandOptions): PipelineCommandOptions {
  const { slots = options.queueSize } = options;
  return slots === undefined ? options : { ...options, slots };
}

export function warnWithoutGpu(
  { cudaSieveProto }: PlanCommandOptions,
  output: Output,
  devices: readonly Device[],
): void {
  if (cudaSieveProto && devices.every(({ info }) => info.processor === 'cpu'))
    output.warn('there is no GPU: the CPU sieves, with the same results');
}
