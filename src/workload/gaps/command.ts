import { Command, InvalidArgumentError } from 'commander';
import { action } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { withJobSessionOptions } from '../../console/ledger/job-session.js';
import { withMonitorOptions } from '../../console/monitor/monitor.js';
import { withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { withPipelineOptions } from '../../console/options/pipeline-options.js';
import { withTelemetryOptions } from '../../console/telemetry/options.js';
import { difficultyCommand, verifyCommand } from './command/check.js';
import { parseDifficulty, parseNatural } from './command/number-options.js';
import { withPlanOptions } from './command/plan-options.js';
import { runSearch } from './command/search.js';
import { SEARCH_STREAMS } from './kernel/plan.js';
import { addMineCommand } from './mining/command.js';

/** `millrace gaps …` */
export function gapsCommand(): Command {
  const gaps = new Command('gaps').description("long gaps between primes: search, check, Gapcoin's proof of work");
  const searching = gaps
    .command('search')
    .description('find all gaps of at least a given length that begin in a range')
    .addOption(valueOption('--start <n>', 'the first number, as 2^280+1 or in decimal').argParser(parseNatural))
    .addOption(
      valueOption('--header <hex>', 'a block header of 80 bytes or more instead: H · 2^shift is the first number'),
    )
    .addOption(
      valueOption('-f, --shift <n>', 'bits after the hash of a header (default: its own, or 32)').argParser(
        wholeNumberParser(14, 1024),
      ),
    )
    .addOption(
      valueOption('--length <n>', 'integers to search from the offset on (default: to 2^shift)').argParser(
        parseNatural,
      ),
    )
    .addOption(valueOption('--min-merit <m>', 'minimum merit, gap / ln p (default: 20)').argParser(parseMerit))
    .addOption(valueOption('--min-gap <n>', 'minimum length').argParser(wholeNumberParser(2, 2 ** 20)))
    .addOption(
      valueOption('--target <t>', "minimum difficulty (default with --header: the header's)").argParser(
        parseDifficulty,
      ),
    )
    .addOption(valueOption('--offset <n>', 'integers to skip; with --crt: intervals').argParser(parseNatural))
    .addOption(valueOption('-r, --crt <file>', 'search only the intervals of a Chinese set, which have few candidates'))
    .addOption(flag('--first', 'end with the first gap'))
    .addOption(
      valueOption('--list <name>', 'print lines of the prime-gap lists, with this discoverer').argParser(
        parseDiscoverer,
      ),
    )
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(options.fleet());
  withMonitorOptions(withDeviceOptions(withPipelineOptions(withPlanOptions(searching), SEARCH_STREAMS)));
  withJobSessionOptions(withTelemetryOptions(searching)).action(action(runSearch, { hasCheckpoints: true }));
  withExamples(
    searching,
    ['millrace gaps search --start 2^280 --length 2^30 --min-merit 15'],
    ['millrace gaps search --header HEX --shift 32 --device cuda', 'proofs of work'],
    [
      'millrace gaps search --start 2^280 --crt set.txt --list Me',
      'intervals of a set, lines for the lists of prime gaps',
    ],
  );
  addMineCommand(gaps);
  return gaps.addCommand(verifyCommand()).addCommand(difficultyCommand());
}

function parseMerit(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value < 1000) return value;
  return wholeNumberParser(1, 999)(text);
}

function parseDiscoverer(text: string): string {
  if (/^[!-~]{1,8}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a name of at most 8 characters, without blanks.');
}
