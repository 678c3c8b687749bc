import { Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../../console/command/action.js';
import { withExamples } from '../../../console/command/conventions.js';
import { Exit } from '../../../console/command/exit.js';
import { valueOption, wholeNumberParser } from '../../../console/options/options.js';
import type { CommandResult } from '../../../console/output/output.js';
import { MillraceError } from '../../../kernel/error.js';
import { bitsOf, difficulty, hashOf, merit, PRIME_ROUNDS, parseHeader, startOf } from '../kernel/reference.js';
import { isProbablePrime, nextPrime } from '../kernel/reference-primes.js';
import { formatFixed, parseDifficulty, parseNatural } from './number-options.js';

/** `millrace gaps verify` */
export function verifyCommand(): Command {
  const command = new Command('verify')
    .alias('check')
    .description('recompute a gap from its first prime, or a proof of work from its header')
    .argument('<what>', 'the prime, as 2^61+20 or in decimal; or a header with shift and adder in hex')
    .addOption(valueOption('--gap <n>', 'expected length of the gap').argParser(wholeNumberParser(1, 2 ** 20)))
    .addOption(valueOption('--target <t>', "minimum difficulty (default: a header's own)").argParser(parseDifficulty))
    .action(action(verify));
  return withExamples(command, ['millrace gaps verify 1425172824437699411 --gap 1476']);
}

interface VerifyOptions {
  readonly gap?: number;
  readonly target?: bigint;
}

async function verify({
  output,
  args,
  options: { gap: expected, target: asked },
}: Call<VerifyOptions>): Promise<CommandResult> {
  const what = args[0] ?? '';
  const isHeader = /^[0-9a-fA-F]{174,}$/.test(what);
  const header = isHeader ? parseHeader(what) : undefined;
  const start = header
    ? startOf({ hash: hashOf(header), shift: header.shift, adder: header.adder })
    : primeArgument(what);
  const target = asked ?? header?.difficulty;
  const { good, bad } = output.style;
  if (start === undefined || !isProbablePrime(start, PRIME_ROUNDS)) {
    const why = start === undefined ? 'hash, shift or adder break the rules' : `${start} is not prime`;
    output.line(`${bad('invalid')}: ${why}`);
    return { exit: Exit.no, answer: { valid: false, reason: why } };
  }
  const end = nextPrime(start);
  const [gap, reached] = [Number(end - start), difficulty(start, end)];
  const isValid = (expected === undefined || gap === expected) && (target === undefined || reached >= target);
  output.line(isValid ? good('valid') : bad('invalid'));
  output.line(`  gap         ${gap}${expected === undefined || expected === gap ? '' : `, not ${expected}`}`);
  output.line(`  merit       ${formatFixed(merit(start, end))}`);
  output.line(`  difficulty  ${formatFixed(reached)}  ${reached}`);
  if (target !== undefined) output.line(`  target      ${formatFixed(target)}  ${target}`);
  const answer = {
    valid: isValid,
    start,
    end,
    gap,
    merit: Number(formatFixed(merit(start, end))),
    difficulty: reached,
  };
  return { exit: isValid ? Exit.ok : Exit.no, answer: { ...answer, ...(target !== undefined && { target }) } };
}

/** `millrace gaps difficulty` */
export function difficultyCommand(): Command {
  const command = new Command('difficulty')
    .description('difficulty of offsets from a number in 32-bit limbs, least significant first')
    .argument('<target>', 'the difficulty to compare with', parseDifficulty)
    .argument('<limbs>', "the number's limbs, separated by commas")
    .argument('<offsets...>', 'offsets to add to it')
    .addOption(
      valueOption('--shift <n>', 'bits of the number that are not the hash')
        .argParser(wholeNumberParser(0, 1024))
        .default(32),
    )
    .addOption(valueOption('--radix <n>', 'radix of limbs and offsets: 10 or 16').argParser(parseRadix).default(16))
    .action(action(difficulties));
  const limbs = '00000000,7918d8b8,9d6b3e84,ecdf0282,23f14936,09b8b8f4,f5c04d89,b5b66983,d5cada15';
  return withExamples(command, [`millrace gaps difficulty 22.18 ${limbs} 1396a73`]);
}

interface DifficultyOptions {
  readonly shift: number;
  readonly radix: 10 | 16;
}

async function difficulties({
  output,
  args,
  options: { shift, radix: base },
}: Call<DifficultyOptions>): Promise<CommandResult> {
  const [target, text, offsets] = args as unknown as [bigint, string, readonly string[]];
  const limbs = text.split(',').map((limb) => parseDigits(limb, base));
  const tooLarge = limbs.find((limb) => bitsOf(limb) > 32);
  if (tooLarge !== undefined) throw malformed(tooLarge.toString(base), 'a limb has 32 bits');
  const number = limbs.reduceRight((sum, limb) => (sum << 32n) | limb, 0n);
  const rows = offsets.map((one) => {
    const start = number + parseDigits(one, base);
    const isPrime = isProbablePrime(start, PRIME_ROUNDS);
    const reached = isPrime ? difficulty(start, nextPrime(start)) : 0n;
    const hash = (start >> BigInt(shift)).toString(16);
    const adder = start & ((1n << BigInt(shift)) - 1n);
    return { offset: one, difficulty: reached, ratio: Number(reached) / Number(target), hash, adder };
  });
  for (const { offset, difficulty: reached, ratio, hash, adder } of rows) {
    output.event('difficulty', { offset, difficulty: reached, ratio, hash, adder });
    output.line(`${offset}  ${reached}  0x${reached.toString(16)}  ${ratio.toFixed(6)}  0x${hash}  ${adder}`);
  }
  return { exit: rows.every(({ ratio }) => ratio >= 1) ? Exit.ok : Exit.no, answer: { offsets: rows } };
}

function primeArgument(text: string): bigint {
  try {
    return parseNatural(text);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw malformed(text, error.message);
    throw error;
  }
}

function parseDigits(text: string, base: 10 | 16): bigint {
  const digits = text.trim().replace(/^0x/i, '');
  const isDigits = base === 16 ? /^[0-9a-fA-F]+$/.test(digits) : /^\d+$/.test(text.trim());
  if (!isDigits) throw malformed(text, `give digits of radix ${base}, or another --radix`);
  return BigInt(base === 16 ? `0x${digits}` : text.trim());
}

function parseRadix(text: string): 10 | 16 {
  if (text === '10' || text === '16') return Number(text) as 10 | 16;
  throw new InvalidArgumentError('Expected 10 or 16.');
}

const malformed = (text: string, advice: string): MillraceError =>
  new MillraceError({ code: 'usage', message: `not a valid number: ${text}`, asked: text, advice });
