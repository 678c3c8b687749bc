import { Command } from 'commander';
import { blockBench } from '../workload/block/bench.js';

/** `millrace bench …`: each workload brings its own. */
export function benchCommand(): Command {
  return new Command('bench').description('figures of a workload, next to its peers').addCommand(blockBench());
}
