import { Command } from 'commander';
import { blockBench } from '../../workload/block/bench.js';
import { encodeBench } from '../../workload/encode/bench.js';
import { gapsBench } from '../../workload/gaps/bench.js';
import { uhashBench } from '../../workload/uhash/bench.js';
import { wordsBench } from '../../workload/words/bench.js';
import { suiteCommand } from './suite-command.js';

/** `millrace bench …`: all workloads in brief, or one in full; each workload defines its own command. */
export function benchCommand(): Command {
  return new Command('bench')
    .description('measure all workloads, or one next to other programs')
    .addCommand(suiteCommand(), { isDefault: true })
    .addCommand(blockBench())
    .addCommand(uhashBench())
    .addCommand(encodeBench())
    .addCommand(gapsBench())
    .addCommand(wordsBench());
}
