import { InvalidArgumentError } from 'commander';
import { MillraceError } from '../../../kernel/error.js';
import {
  bitsOf,
  hashOf,
  MAX_SHIFT,
  MIN_SHIFT,
  minGapForTarget,
  ONE,
  parseHeader,
  withUsableNonce,
} from '../kernel/reference.js';

/** The numbers and bounds of a search, as the command line gives them. */
export interface NumberOptions {
  readonly start?: bigint;
  readonly header?: string;
  readonly shift?: number;
  /** Integers to skip; with a set, intervals. */
  readonly offset?: bigint;
  /** Integers to search, counted from the offset. */
  readonly length?: bigint;
  readonly minMerit?: number;
  readonly minGap?: number;
  readonly target?: bigint;
}

/** The numbers to search, and the bounds for reporting a gap. */
export interface SearchSpec {
  /** Offsets count from here. */
  readonly start: bigint;
  /** Integers from the start to the end of the search. Those below `skipped` are not searched. */
  readonly length: bigint;
  readonly skipped: bigint;
  readonly minGap: number;
  /** The minimum difficulty, in fixed point; undefined if there is no bound. */
  readonly target: bigint | undefined;
  /** The minimum merit, in fixed point; undefined if there is no bound. */
  readonly merit: bigint | undefined;
  /** Set for a proof of work. */
  readonly work: { readonly hash: bigint; readonly shift: number; readonly nonce: number } | undefined;
}

/** `step` is the number of integers that an offset of 1 skips: 1, or the primorial of a set of intervals. */
export function searchSpecOf(options: NumberOptions, step = 1n): SearchSpec {
  const { start, header } = options;
  if (start !== undefined && header === undefined) return fromStart(start, options, step);
  if (start === undefined && header !== undefined) return fromHeader(header, options, step);
  const message = start === undefined ? 'neither --start nor --header is given' : 'both --start and --header are given';
  throw usage(message, 'give one of them');
}

/** 2^shift integers are searched if no length is given. */
const DEFAULT_SHIFT = 32;

function fromStart(start: bigint, options: NumberOptions, step: bigint): SearchSpec {
  const { shift = DEFAULT_SHIFT } = options;
  const range = rangeOf(options, 1n << BigInt(shift), step);
  const bounds = boundsOf(start, options, undefined);
  const bits = bitsOf(start + range.length + BigInt(bounds.minGap));
  if (bits > MAX_BITS)
    throw usage(
      `the last numbers have ${bits} bits`,
      `give numbers of at most ${MAX_BITS} bits to the end of the search`,
    );
  return { start, ...range, ...bounds, work: undefined };
}

function fromHeader(hex: string, options: NumberOptions, step: bigint): SearchSpec {
  const header = withUsableNonce(parseHeader(hex));
  const shift = options.shift ?? (header.shift === 0 ? DEFAULT_SHIFT : header.shift);
  if (shift < MIN_SHIFT || shift > MAX_SHIFT)
    throw usage(`shift out of range: expected ${MIN_SHIFT} to ${MAX_SHIFT}, got ${shift}`, 'give another --shift');
  const hash = hashOf(header);
  const start = hash << BigInt(shift);
  const all = 1n << BigInt(shift);
  const range = rangeOf(options, all, step);
  if (range.skipped >= all) throw skipsAll(options, shift);
  if (range.length > all) {
    throw usage(
      `--length ${options.length} passes the end of the header's 2^${shift} numbers`,
      `give a --length of at most ${all - range.skipped}, or a larger --shift`,
    );
  }
  const bounds = boundsOf(start, options, header.difficulty);
  return { start, ...range, ...bounds, work: { hash, shift, nonce: header.nonce } };
}

/** Ends `all` integers after the start if no length is given. */
function rangeOf(
  { offset = 0n, length }: NumberOptions,
  all: bigint,
  step: bigint,
): Pick<SearchSpec, 'length' | 'skipped'> {
  const skipped = offset * step;
  if (length === 0n) throw usage('--length is 0', 'give at least one integer to search');
  if (length === undefined && skipped >= all) throw skipsAll({ offset }, bitsOf(all) - 1);
  const range = { length: length === undefined ? all : skipped + length, skipped };
  // A search numbers its integers, or with a set its intervals, in 128 bits.
  if (step > 1n || range.length <= MAX_OFFSET) return range;
  throw usage(
    `the search ends more than 2^${bitsOf(range.length - 1n) - 1} numbers after its start`,
    'give an --offset and a --length that end at 2^128 or below',
  );
}
const MAX_OFFSET = 1n << 128n;

const skipsAll = ({ offset }: NumberOptions, shift: number): MillraceError =>
  usage(`--offset ${offset} skips all of the 2^${shift} numbers`, 'give a smaller --offset, or a larger --shift');

type Bounds = Pick<SearchSpec, 'minGap' | 'target' | 'merit'>;

function boundsOf(start: bigint, { minMerit, minGap, target }: NumberOptions, ofHeader: bigint | undefined): Bounds {
  const bounds = [minMerit, minGap, target].filter((bound) => bound !== undefined);
  if (bounds.length > 1)
    throw usage('more than one bound for a gap', 'give one of --min-merit, --min-gap and --target');
  if (minGap !== undefined) return { minGap: minGap + (minGap % 2), target: undefined, merit: undefined };
  const minGapOf = (bound: bigint): number => Math.max(2, minGapForTarget(start, bound));
  const bound = minMerit === undefined ? (target ?? ofHeader) : undefined;
  if (bound !== undefined) return { minGap: minGapOf(bound), target: bound, merit: undefined };
  const merit = minMerit === undefined ? DEFAULT_MERIT * ONE : BigInt(Math.round(minMerit * 2 ** 48));
  return { minGap: minGapOf(merit), target: undefined, merit };
}
/** On average one prime in 485 million begins a gap of this merit. */
const DEFAULT_MERIT = 20n;

/** Parses a natural number: decimal, 0x…, or powers and sums such as 2^64+13. */
export function parseNatural(text: string): bigint {
  const parts = text.replaceAll(/[\s_]/g, '').split('+');
  const values = parts.map((part) => {
    const [, base, exponent] = /^(\d+|0x[0-9a-fA-F]+)(?:\^(\d{1,5}))?$/.exec(part) ?? [];
    if (base === undefined) throw new InvalidArgumentError('Expected a whole number such as 1000003, 0xff or 2^64+13.');
    return exponent === undefined ? BigInt(base) : BigInt(base) ** BigInt(exponent);
  });
  const sum = values.reduce((all, value) => all + value, 0n);
  if (bitsOf(sum) > MAX_BITS) throw new InvalidArgumentError(`Expected at most ${MAX_BITS} bits.`);
  return sum;
}
const MAX_BITS = 256 + MAX_SHIFT;

/** Parses a difficulty: 22.18, or in fixed point as nodes report it, 6244144922783894. */
export function parseDifficulty(text: string): bigint {
  if (/^\d{13,}$/.test(text)) return BigInt(text);
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value < 65_536) return BigInt(Math.round(value * 2 ** 48));
  throw new InvalidArgumentError('Expected a difficulty such as 22.18 or 6244144922783894.');
}

/** Formats a fixed-point number in decimal: 22.823195607. */
export const formatFixed = (fixed: bigint, digits = 9): string => (Number(fixed) / 2 ** 48).toFixed(digits);

const usage = (message: string, advice: string): MillraceError => new MillraceError({ code: 'usage', message, advice });
