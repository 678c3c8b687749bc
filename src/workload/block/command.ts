import { Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { withJobSessionOptions } from '../../console/ledger/job-session.js';
import { withMonitorOptions } from '../../console/monitor/monitor.js';
import { withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { withPipelineOptions } from '../../console/options/pipeline-options.js';
import { withTuningOptions } from '../../console/options/tuning-options.js';
import { plural } from '../../console/output/format.js';
import { withTelemetryOptions } from '../../console/telemetry/options.js';
import { solve } from './command/solve.js';
import { readText } from './files/disk.js';
import { parseInput, parseOutput } from './files/file.js';
import { DEFAULT_JOBS } from './job/solve-all.js';
import { checkNonce, headerPrefix, targetFromBits, targetText } from './kernel/reference.js';
import { NONCES } from './kernel/scan.js';
import { addMineCommand } from './mining/command.js';

/** `millrace block …` */
export function blockCommand(): Command {
  const block = new Command('block')
    .description('Bitcoin block headers: find and check nonces, mine')
    .addHelpText('after', fileFormatHelp);
  const solving = block
    .command('solve')
    .description('find the smallest valid nonce of each block in IN, write them to OUT')
    .argument('<in>', 'blocks without their nonces')
    .argument('<out>', 'the nonces, in the same order')
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(options.fleet())
    .addOption(flag('--any', 'accept any valid nonce, not only the smallest'))
    .addOption(valueOption('--nonces <from:to>', 'try only these nonces; TO is exclusive').argParser(nonceRange))
    .addOption(
      valueOption('--jobs <n>', 'blocks searched at a time').argParser(wholeNumberParser(1, 64)).default(DEFAULT_JOBS),
    );
  withTelemetryOptions(withTuningOptions(withMonitorOptions(withDeviceOptions(withPipelineOptions(solving)))));
  withJobSessionOptions(solving, { hits: false });
  solving.action(action(solve, { hasCheckpoints: true }));
  withExamples(
    solving,
    ['millrace block solve blocks.in nonces.out --device cuda:0,cpu'],
    ['millrace block solve blocks.in nonces.out --fleet', 'on the machines of a fleet'],
  );
  const verifying = block
    .command('verify')
    .alias('check')
    .description('recompute each block of IN with the nonces of OUT; any valid nonce is correct')
    .argument('<in>', 'blocks without their nonces')
    .argument('<out>', 'the nonces, in the same order')
    .action(action(verify));
  withExamples(verifying, ['millrace block verify blocks.in nonces.out']);
  addMineCommand(block);
  return block;
}

async function verify({ output, args }: Call<object>): Promise<ExitCode> {
  const [inName = '', outName = ''] = args;
  const blocks = parseInput(await readText(inName), inName);
  const nonces = parseOutput(await readText(outName), outName);
  if (nonces.length !== blocks.length) {
    const message = `${inName} holds ${plural(blocks.length, 'block')}, ${outName} ${plural(nonces.length, 'nonce')}`;
    output.event('mismatch', { blocks: blocks.length, nonces: nonces.length });
    output.line(`${output.style.bad('wrong')}: ${message}`);
    return Exit.no;
  }
  let wrong = 0;
  for (const [at, block] of blocks.entries()) {
    const nonce = nonces[at] ?? 0;
    const target = targetFromBits(block.bits);
    const { valid, hash } = checkNonce(headerPrefix(block), target, nonce);
    if (!valid) wrong += 1;
    output.event('block', { block: at + 1, nonce, correct: valid, hash, target: targetText(target) });
    const { good, bad } = output.style;
    const why = valid ? '' : `\n  hash    ${hash}\n  target  ${targetText(target)}`;
    output.line(`block ${at + 1}: ${valid ? good('correct') : bad('wrong')}${why}`);
  }
  return wrong === 0 ? Exit.ok : Exit.no;
}

function nonceRange(text: string): { from: number; to: number } {
  const [from, to] = /^(\d{1,10}):(\d{1,10})$/.exec(text)?.slice(1).map(Number) ?? [];
  if (from === undefined || to === undefined || from > to || to > NONCES) {
    throw new InvalidArgumentError(`Expected FROM:TO, two whole numbers up to ${NONCES}.`);
  }
  return { from, to };
}

const fileFormatHelp = `
Files (text, LF or CRLF):
  IN   the number of blocks; then for each: version, previous hash, time, nbits, the number of
       transactions, the transactions' ids. Counts are decimal, everything else is hex as a
       block explorer shows it: 8 digits, 64 for hashes.
  OUT  the number of blocks; then one nonce a line: its four bytes as they stand in the header.
       00000000 where none is valid (also a nonce; the exit status 1 tells them apart).`;
