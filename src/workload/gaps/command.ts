import { Command, InvalidArgumentError } from 'commander';
import { action } from '../../console/action.js';
import { withBookingOptions } from '../../console/booking.js';
import { withExamples } from '../../console/conventions.js';
import { withFeedingOptions } from '../../console/feeding.js';
import { withMonitorOptions } from '../../console/monitor.js';
import { withOpeningOptions } from '../../console/opening.js';
import { flag, options, valued, wholeNumber } from '../../console/options.js';
import { withTelemetryOptions } from '../../console/telemetry/options.js';
import { difficultyCommand, verifyCommand } from './check-command.js';
import { difficultyGiven, natural } from './given.js';
import { DEFAULT_DEPTH, DEFAULT_PRIMES, LEAST_PRIMES, MOST_PRIMES, MOST_WINDOW } from './plan.js';
import { find } from './search-command.js';
import { MOST_DEPTH } from './sieve-kernels.js';

/** `millrace gaps …` */
export function gapsCommand(): Command {
  const gaps = new Command('gaps').description("long gaps between primes: search, check, Gapcoin's proof of work");
  const searching = gaps
    .command('search')
    .description('find the gaps of at least some length that begin in a range')
    .addOption(valued('--start <n>', 'the first number, as 2^280+1 or in decimal').argParser(natural))
    .addOption(valued('--header <hex>', 'a block header of 80 bytes or more instead: H · 2^shift is the first number'))
    .addOption(valued('-f, --shift <n>', 'of a header (default: its own, or 32)').argParser(wholeNumber(14, 1024)))
    .addOption(valued('--length <n>', 'integers to search (default: 2^32; 2^shift with --header)').argParser(natural))
    .addOption(valued('--min-merit <m>', 'gap / ln p at least (default: 20)').argParser(positive))
    .addOption(valued('--min-gap <n>', 'the length itself').argParser(wholeNumber(2, 2 ** 20)))
    .addOption(valued('--target <t>', "a difficulty (default with --header: the header's)").argParser(difficultyGiven))
    .addOption(valued('--offset <n>', 'integers to skip; with --crt intervals').argParser(natural))
    .addOption(valued('-r, --crt <file>', 'only intervals with few candidates, as a file with a Chinese set has them'))
    .addOption(flag('--first', 'end with the first gap'))
    .addOption(
      valued('--list <name>', 'gaps as lines of the prime-gap lists, found by that name').argParser(discoverer),
    )
    .addOption(options.devices().default('auto', 'the best there is'));
  withMonitorOptions(withOpeningOptions(withFeedingOptions(withPlan(searching))));
  withBookingOptions(withTelemetryOptions(searching)).action(action(find, { hasCheckpoints: true }));
  withExamples(
    searching,
    ['millrace gaps search --start 2^280 --length 2^30 --min-merit 15'],
    ['millrace gaps search --header 0200… --shift 32 --device cuda', 'proofs of work'],
    ['millrace gaps search --header 0200… --shift 64 --crt crt-22m-64s.txt --list Me'],
  );
  return gaps.addCommand(verifyCommand()).addCommand(difficultyCommand());
}

/** How it is searched; the miners' names do as well. */
function withPlan(command: Command): Command {
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

function positive(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value < 1000) return value;
  return wholeNumber(1, 999)(text);
}

function discoverer(text: string): string {
  if (/^[!-~]{1,8}$/.test(text)) return text;
  throw new InvalidArgumentError('A name of at most 8 letters is needed, without blanks.');
}
