import { InvalidArgumentError } from 'commander';
import { MillraceError } from '../../kernel/error.js';
import { bitsOf, hashOf, LEAST_SHIFT, leastGap, MOST_SHIFT, ONE, parseHeader, withUsableNonce } from './reference.js';

/** What a search is about, as the command line says it. */
export interface GivenNumbers {
  readonly start?: bigint;
  readonly header?: string;
  readonly shift?: number;
  readonly length?: bigint;
  readonly minMerit?: number;
  readonly minGap?: number;
  readonly target?: bigint;
}

/** Numbers to search, and what makes a gap worth telling. */
export interface Wanted {
  readonly start: bigint;
  readonly length: bigint;
  readonly leastGap: number;
  /** The least difficulty, in fixed point; undefined where it does not count. */
  readonly target: bigint | undefined;
  /** The least merit, as well. */
  readonly merit: bigint | undefined;
  /** Of a proof of work. */
  readonly work: { readonly hash: bigint; readonly shift: number; readonly nonce: number } | undefined;
}

export function wantedOf(given: GivenNumbers): Wanted {
  const { start, header, shift = DEFAULT_SHIFT, length = 1n << BigInt(shift) } = given;
  if ((start === undefined) === (header === undefined))
    throw usage('what is searched is not clear', 'give --start or --header');
  if (header !== undefined) return fromHeader(header, given);
  const first = start as bigint;
  const bounds = boundsOf(first, given, undefined);
  return { start: first, length, ...bounds, work: undefined };
}

/** 2^shift integers are searched where no length is given. */
const DEFAULT_SHIFT = 32;

function fromHeader(hex: string, given: GivenNumbers): Wanted {
  const header = withUsableNonce(parseHeader(hex));
  const shift = given.shift ?? (header.shift === 0 ? DEFAULT_SHIFT : header.shift);
  if (shift < LEAST_SHIFT || shift > MOST_SHIFT)
    throw usage(`a shift of ${shift}`, `give one from ${LEAST_SHIFT} to ${MOST_SHIFT}`);
  const hash = hashOf(header);
  const start = hash << BigInt(shift);
  const all = 1n << BigInt(shift);
  const length = given.length === undefined || given.length > all ? all : given.length;
  const bounds = boundsOf(start, given, header.difficulty);
  return { start, length, ...bounds, work: { hash, shift, nonce: header.nonce } };
}

type Bounds = Pick<Wanted, 'leastGap' | 'target' | 'merit'>;

function boundsOf(start: bigint, { minMerit, minGap, target }: GivenNumbers, ofHeader: bigint | undefined): Bounds {
  const given = [minMerit, minGap, target].filter((one) => one !== undefined);
  if (given.length > 1) throw usage('two bounds for a gap', 'give one of --min-merit, --min-gap and --target');
  if (minGap !== undefined) return { leastGap: minGap + (minGap % 2), target: undefined, merit: undefined };
  const least = (bound: bigint): number => Math.max(2, leastGap(start, bound));
  const asked = minMerit === undefined ? (target ?? ofHeader) : undefined;
  if (asked !== undefined) return { leastGap: least(asked), target: asked, merit: undefined };
  const merit = minMerit === undefined ? DEFAULT_MERIT * ONE : BigInt(Math.round(minMerit * 2 ** 48));
  return { leastGap: least(merit), target: undefined, merit };
}
/** On average one prime in 485 million begins such a gap. */
const DEFAULT_MERIT = 20n;

/** A natural number: decimal, 0x…, or powers and sums as 2^64+13. */
export function natural(text: string): bigint {
  const parts = text.replaceAll(/[\s_]/g, '').split('+');
  const values = parts.map((part) => {
    const [, base, exponent] = /^(\d+|0x[0-9a-fA-F]+)(?:\^(\d{1,5}))?$/.exec(part) ?? [];
    if (base === undefined) throw new InvalidArgumentError('A whole number is needed, as 1000003, 0xff or 2^64+13.');
    return exponent === undefined ? BigInt(base) : BigInt(base) ** BigInt(exponent);
  });
  const sum = values.reduce((all, value) => all + value, 0n);
  if (bitsOf(sum) > MOST_BITS) throw new InvalidArgumentError(`At most ${MOST_BITS} bits are possible.`);
  return sum;
}
const MOST_BITS = 256 + MOST_SHIFT;

/** A difficulty: 22.18, or in fixed point as nodes tell it, 6244144922783894. */
export function difficultyGiven(text: string): bigint {
  if (/^\d{13,}$/.test(text)) return BigInt(text);
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value < 65_536) return BigInt(Math.round(value * 2 ** 48));
  throw new InvalidArgumentError('A difficulty is needed, as 22.18 or 6244144922783894.');
}

/** In decimal: 22.823195607. */
export const decimal = (fixed: bigint, digits = 9): string => (Number(fixed) / 2 ** 48).toFixed(digits);

const usage = (message: string, advice: string): MillraceError => new MillraceError({ code: 'usage', message, advice });
