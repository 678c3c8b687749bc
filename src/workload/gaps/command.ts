import { Command } from 'commander';
import { action, type Call } from '../../console/action.js';
import { withExamples } from '../../console/conventions.js';
import { Exit } from '../../console/exit.js';
import { type FeedingOptions, feedingOf, withFeedingOptions } from '../../console/feeding.js';
import { count, duration, rate } from '../../console/format.js';
import { holding, type MonitorOptions, startMonitor, withMonitorOptions } from '../../console/monitor.js';
import { type OpeningOptions, startOpening, withOpeningOptions } from '../../console/opening.js';
import { flag, options, valued, wholeNumber } from '../../console/options.js';
import type { Ending, Output } from '../../console/output.js';
import { openDevices } from '../../device/registry.js';
import { Engine } from '../../engine/index.js';
import { difficultyCommand, verifyCommand } from './check-command.js';
import type { PieceWork } from './flow.js';
import { decimal, difficultyGiven, type GivenNumbers, natural, type Wanted, wantedOf } from './given.js';
import { DEFAULT_DEPTH, DEFAULT_PRIMES, LEAST_PRIMES, MOST_DEPTH, MOST_PRIMES, MOST_WINDOW } from './plan.js';
import { bitsOf, difficulty, merit } from './reference.js';
import { type Gap, searchGaps } from './search.js';

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
    .addOption(flag('--first', 'end with the first gap'))
    .addOption(options.devices().default('auto', 'the best there is'));
  withMonitorOptions(withOpeningOptions(withFeedingOptions(withPlan(searching)))).action(action(find));
  withExamples(
    searching,
    ['millrace gaps search --start 2^280 --length 2^30 --min-merit 15'],
    ['millrace gaps search --header 0200… --shift 32 --device cuda', 'proofs of work'],
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
      valued('-n, --num-gpu-tests <n>', 'taken, and without effect: a chain tests one number at a time')
        .argParser(wholeNumber(1, 2 ** 16))
        .hideHelp(),
    )
    .addOption(flag('--cuda-sieve-proto', "insist on a GPU's sieve: warn where there is none").hideHelp());
}

interface SearchOptions extends GivenNumbers, OpeningOptions, FeedingOptions, MonitorOptions {
  readonly device: string;
  readonly first?: boolean;
  readonly window?: number;
  readonly primes?: number;
  readonly batchDepth?: number;
  readonly sieveSize?: number;
  readonly sievePrimes?: number;
  readonly workItems?: number;
  readonly queueSize?: number;
  readonly cudaSieveProto?: boolean;
}

async function find(call: Call<SearchOptions>): Promise<Ending> {
  const { output, options: given, signal } = call;
  const wanted = wantedOf(given);
  const slots = given.slots ?? given.queueSize;
  const { engine: feeding, driver } = feedingOf({ ...given, ...(slots !== undefined && { slots }) });
  const { options: opened, tell } = startOpening(given, output, driver);
  const devices = await openDevices(given.device, opened);
  if (given.cudaSieveProto && devices.every(({ info }) => info.processor === 'cpu'))
    output.warn('there is no GPU: the processor sieves, with the same results');
  const engine = new Engine(devices, feeding);
  const sum = { tests: 0, primes: 0, windows: 0, bytes: 0 };
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) / 1000;
  let gaps = 0;
  let done = 0n;
  try {
    for (const { info } of devices) output.event('device', { id: info.id, name: info.name });
    const logarithm = bitsOf(wanted.start) * Math.LN2;
    // A prime in ln p numbers, and of the primes e^−merit begin such a gap.
    const chance = Math.exp(-wanted.leastGap / logarithm) / logarithm;
    const watched = {
      name: `gaps of ${wanted.leastGap} or more`,
      unit: 'int',
      length: wanted.length,
      progress: () => ({ done }),
      devices: () => engine.devices,
      hits: () => gaps,
      ...(given.first && { chance }),
      notes: () => notesOf(sum.tests, Number(done), { logarithm, chance, seconds: elapsed() }),
    };
    const controls = { ...holding(engine), stop: call.stop, signal };
    const monitor = startMonitor(output, given, watched, controls);
    try {
      const request = {
        ...wanted,
        ...planOf(given),
        onPiece: (work: PieceWork) => {
          for (const key of ['tests', 'primes', 'windows', 'bytes'] as const) sum[key] += work[key];
          diagnosePiece(output, wanted, work);
        },
      };
      const running = {
        engine,
        signal,
        onProgress: (progress: { readonly done: bigint }) => {
          done = progress.done;
        },
      };
      for await (const gap of searchGaps(request, running)) {
        if (!tellGap(output, wanted, gap)) continue;
        gaps += 1;
        if (given.first) break;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      monitor.end();
    }
    const seconds = elapsed();
    output.say(
      output.aside.dim(`${count(done)} integers in ${duration(seconds)}, ${rate(Number(done) / seconds, 'int')}`),
    );
    for (const device of devices) await tell(device);
    const exit = signal.aborted ? (call.stopped ?? Exit.stopped) : gaps > 0 ? Exit.ok : Exit.no;
    const { tests, primes, windows, bytes } = sum;
    return { exit, answer: { gaps, integers: done, tests, primes, windows, bytes, seconds } };
  } finally {
    await engine.close();
    await Promise.all(devices.map((device) => device.close()));
  }
}

function planOf(given: SearchOptions) {
  const window = given.window ?? given.sieveSize;
  const primes = given.primes ?? given.sievePrimes;
  const { batchDepth: depth, workItems } = given;
  return {
    ...(window !== undefined && { window }),
    ...(primes !== undefined && { primes }),
    ...(depth !== undefined && { depth }),
    ...(workItems !== undefined && { threads: workItems * GROUP }),
  };
}
const GROUP = 512;

/** Tells a gap, unless it has the length but not quite what was asked for. */
function tellGap(output: Output, { target, merit: least, work }: Wanted, { offset, start, end }: Gap): boolean {
  const [reached, gap] = [difficulty(start, end), Number(end - start)];
  const isEnough = target === undefined || reached >= target;
  if (target !== undefined) {
    const ratio = (Number(reached) / Number(target)).toFixed(6);
    const hash = work === undefined ? '' : ` mpz_hash=0x${work.hash.toString(16)}`;
    output.diagnose?.(
      `submit-candidate: offset=${offset} target=${target} pow_valid=${isEnough} ratio=${ratio} share_difficulty=${reached}${hash} mpz_adder=0x${offset.toString(16)}`,
    );
  }
  const reachedMerit = merit(start, end);
  if (!isEnough || (least !== undefined && reachedMerit < least)) return false;
  const shown = decimal(reachedMerit);
  const proof = work && { nonce: work.nonce, shift: work.shift, adder: offset, hash: work.hash.toString(16) };
  output.event('gap', { gap, merit: Number(shown), start, offset, difficulty: reached, ...proof });
  // As lists of gaps have it: length, merit, first prime.
  output.line(`${gap}  ${shown}  ${start}`);
  if (work) output.line(output.style.dim(`  shift ${work.shift}  adder ${offset}  difficulty ${decimal(reached)}`));
  return true;
}

function diagnosePiece(
  output: Output,
  { start }: Wanted,
  { device, piece, windows, candidates, tests }: PieceWork,
): void {
  output.diagnose?.(
    `sieve window ${piece.count} start=${start + piece.start} round=${piece.start / BigInt(piece.count)} candidates=${candidates} windows=${windows} tests=${tests} device=${device.info.id}`,
  );
}

/** How fast it is in other words, and how long a gap takes on average at that speed. */
function notesOf(
  tests: number,
  integers: number,
  { logarithm, chance, seconds }: { readonly logarithm: number; readonly chance: number; readonly seconds: number },
) {
  const perSecond = integers / seconds;
  const expected = [{ label: 'expected', text: `a gap in ${duration(1 / (perSecond * chance))}` }];
  return [
    { label: 'tests', text: rate(tests / seconds, 'tests') },
    { label: 'primes', text: rate(perSecond / logarithm, 'primes') },
    ...(integers > 0 ? expected : []),
  ];
}

function positive(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value < 1000) return value;
  return wholeNumber(1, 999)(text);
}
