import { Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../console/action.js';
import { Exit, type ExitCode } from '../../console/exit.js';
import { type FeedingOptions, feedingOf, withFeedingOptions } from '../../console/feeding.js';
import { count, duration, plural, rate } from '../../console/format.js';
import { flag, options, valued } from '../../console/options.js';
import type { Output } from '../../console/output.js';
import { openProgress } from '../../console/progress.js';
import { openDevices } from '../../device/registry.js';
import { MillraceError } from '../../kernel/error.js';
import { checkWritable, readText, replaceFile, sameFile } from './disk.js';
import { formatOutput, nonceText, parseInput, parseOutput } from './file.js';
import { checkNonce, headerPrefix, targetOf, targetText } from './reference.js';
import { NONCES } from './scan.js';
import { type Solution, Solver } from './solve.js';

/** `millrace block …` */
export function blockCommand(): Command {
  const block = new Command('block')
    .description('Bitcoin block headers: find and check nonces')
    .addHelpText('after', format);
  const solving = block
    .command('solve')
    .description('find the smallest valid nonce of each block in IN, write them to OUT')
    .argument('<in>', 'blocks without their nonces')
    .argument('<out>', 'the nonces, in the same order')
    .addOption(options.devices().default('auto', 'the best there is'))
    .addOption(options.threads())
    .addOption(flag('--any', 'any valid nonce will do, not the smallest'))
    .addOption(valued('--nonces <from:to>', 'only these nonces, the last one not included').argParser(nonceRange));
  withFeedingOptions(solving).addOption(options.json()).action(action(solve));
  block
    .command('verify')
    .description('recompute each block of IN with the nonces of OUT; any valid nonce is correct')
    .argument('<in>', 'blocks without their nonces')
    .argument('<out>', 'the nonces, in the same order')
    .addOption(options.json())
    .action(action(verify));
  return block;
}

interface SolveOptions extends FeedingOptions {
  readonly device: string;
  readonly threads?: number;
  readonly any?: boolean;
  readonly nonces?: { readonly from: number; readonly to: number };
}

async function solve({ output, options: given, args, signal }: Call<SolveOptions>): Promise<ExitCode> {
  const [inName = '', outName = ''] = args;
  const blocks = parseInput(await readText(inName), inName);
  await checkWritable(outName);
  if (await sameFile(inName, outName)) throw overwrites(inName);
  const { engine, driver } = feedingOf(given);
  const threads = given.threads === undefined ? {} : { threads: given.threads };
  const devices = await openDevices(given.device, { ...driver, ...threads });
  try {
    for (const { info } of devices) output.event('device', { id: info.id, name: info.name });
    const solver = new Solver(devices, engine);
    const progress = openProgress(process.stderr, !output.json);
    const nonces: number[] = [];
    for (const { bits } of blocks) await solver.prepare(targetOf(bits));
    const start = performance.now();
    let unsolved = 0;
    let total = 0;
    for (const [at, block] of blocks.entries()) {
      const began = performance.now();
      const seconds = () => (performance.now() - began) / 1000;
      let tried = 0;
      const solution = await solver.solve({
        prefix: headerPrefix(block),
        target: targetOf(block.bits),
        mode: given.any ? 'any' : 'first',
        ...given.nonces,
        signal,
        onProgress: (now) => {
          tried = now;
          progress.show(
            () => `block ${at + 1} of ${blocks.length}  ${count(now)} tried  ${rate(now / seconds(), 'H')}`,
          );
        },
      });
      progress.clear();
      if (solution === null) unsolved += 1;
      total += tried;
      nonces.push(solution?.nonce ?? 0);
      tellBlock(output, { block: at + 1, blocks: blocks.length, tried, seconds: seconds() }, solution);
    }
    await solver.close();
    await replaceFile(outName, formatOutput(nonces));
    const seconds = (performance.now() - start) / 1000;
    const solved = plural(blocks.length - unsolved, 'block');
    const where = devices.map(({ info: { id, name } }) => `${id} (${name})`).join(' and ');
    output.say(`${solved} solved in ${duration(seconds)} on ${where}, ${rate(total / seconds, 'H')}`);
    return unsolved === 0 ? Exit.ok : Exit.no;
  } finally {
    await Promise.all(devices.map((device) => device.close()));
  }
}

interface Tried {
  readonly block: number;
  readonly blocks: number;
  readonly tried: number;
  readonly seconds: number;
}

function tellBlock(output: Output, done: Tried, solution: Solution | null): void {
  const which = `block ${String(done.block).padStart(String(done.blocks).length)} of ${done.blocks}`;
  if (solution === null) {
    output.event('block', { ...done, nonce: null });
    const warning = output.aside.warn('warning:');
    output.say(`${warning} ${which} has no valid nonce (${count(done.tried)} tried); 00000000 stands in its place`);
    return;
  }
  const { nonce, hash } = solution;
  output.event('block', { ...done, nonce, written: nonceText(nonce), hash });
  const figures = `${count(done.tried)} tried in ${duration(done.seconds)}, ${rate(done.tried / done.seconds, 'H')}`;
  output.say(`${which}  ${nonceText(nonce)}  ${output.aside.dim(figures)}`);
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
    const target = targetOf(block.bits);
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
    throw new InvalidArgumentError(`Two whole numbers are needed, FROM:TO, at most ${NONCES}.`);
  }
  return { from, to };
}

const overwrites = (name: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'IN and OUT are the same file',
    asked: `to read ${name} and to write its answer over it`,
    advice: 'give OUT a name of its own',
  });

const format = `
Files (text, LF or CRLF):
  IN   the number of blocks; then for each: version, previous hash, time, nbits, the number of
       transactions, the transactions' ids. Numbers that count are decimal, all else is hex as
       a block explorer shows it: 8 digits, 64 for hashes.
  OUT  the number of blocks; then one nonce a line: its four bytes as they stand in the header.
       00000000 where none is valid (also a nonce; the exit status 1 tells them apart).`;
