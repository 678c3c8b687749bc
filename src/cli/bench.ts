import { Command } from 'commander';
import { blockBench } from '../workload/block/bench.js';
import { encodeBench } from '../workload/encode/bench.js';
import { gapsBench } from '../workload/gaps/bench.js';
import { uhashBench } from '../workload/uhash/bench.js';
import { wordsBench } from '../workload/words/bench.js';

/** `millrace bench …`: each workload brings its own. */
export function benchCommand(): Command {
  return new Command('bench')
    .description('figures of a workload, next to its peers')
    .addCommand(blockBench())
    .addCommand(uhashBench())
    .addCommand(encodeBench())
    .addCommand(gapsBench())
    .addCommand(wordsBench());
}
