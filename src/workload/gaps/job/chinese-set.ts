import { readFileSync } from 'node:fs';
import { MillraceError } from '../../../kernel/error.js';
import { firstPrimes } from '../kernel/prime-table.js';
import { bitsOf } from '../kernel/reference.js';

/**
 * Intervals with few candidates: from `offset` after each multiple of the primorial on there are `size` integers of which
 * only `candidates` have no factor among its primes. Miners keep these sets in files, by the length of their numbers.
 */
export interface ChineseSet {
  /** Number of primes in the primorial, from 2 on. */
  readonly primes: number;
  readonly size: number;
  /** As in the file; in some files an upper bound. */
  readonly candidates: number;
  /** Even: an odd one in the file is the first candidate itself, and none may be added at the end. */
  readonly offset: bigint;
  readonly primorial: bigint;
}

/** The intervals of a set in a range. */
export interface Intervals {
  /** Even. Interval k begins at `first` + `step` · k, and its first candidate is the odd number after that. */
  readonly first: bigint;
  readonly step: bigint;
  readonly count: bigint;
  /** Integers per interval; even. */
  readonly length: number;
}

/** `gap` is the shortest that counts: no interval needs to be longer. Throws if the range has no more than `skipped`. */
export function intervalsOf(
  set: ChineseSet,
  range: { readonly start: bigint; readonly length: bigint },
  gap: number,
  skipped = 0n,
): Intervals {
  const { primorial, offset, size } = set;
  const first = (range.start / primorial + 1n) * primorial + offset;
  const end = range.start + range.length;
  const all = end > first ? (end - first) / primorial : 0n;
  const count = all < MAX_COUNT ? all : MAX_COUNT;
  const length = Math.min(size - (size % 2), Math.ceil(gap / 8) * 8);
  if (count > skipped) return { first, step: primorial, count, length };
  throw new MillraceError({
    code: 'usage',
    message: skipped === 0n ? 'no interval of the set lies in the range' : `the range has only ${count} intervals`,
    asked: `intervals from number ${skipped} on, a primorial of ${bitsOf(primorial)} bits in ${bitsOf(range.length - 1n)} bits`,
    advice: 'give a smaller --offset, a larger --shift or --length, or a set with fewer primes',
  });
}
const MAX_COUNT = 1n << 64n;

/** Marks the odd numbers of an interval that have a factor in the primorial with 1. */
export function compositeMask({ primes, offset }: Pick<ChineseSet, 'primes' | 'offset'>, places: number): Uint8Array {
  const isStruck = new Uint8Array(places);
  for (const p of firstPrimes(primes).subarray(1)) {
    const rest = Number((offset + 1n) % BigInt(p));
    const to = rest === 0 ? 0 : p - rest;
    for (let at = to % 2 === 0 ? to / 2 : (to + p) / 2; at < places; at += p) isStruck[at] = 1;
  }
  return isStruck;
}

export function readChineseSet(path: string): ChineseSet {
  try {
    return parseChineseSet(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new MillraceError({
      code: 'io',
      message: `cannot read the set of intervals: ${(error as Error).message}`,
      asked: `--crt ${path}`,
      advice: "give a file of the miners' format, which begins with |== ChineseSet ==|",
      cause: error,
    });
  }
}

/** Reads a file's text: a heading, then `n_primes:`, `size:`, `n_candidates:` and `offset:` in decimal. */
export function parseChineseSet(text: string): ChineseSet {
  const lines = text.split('\n').map((line) => line.trim());
  const field = (name: string): bigint => {
    for (const line of lines) {
      const [, key, digits] = /^(\w+)\s*:\s*(\d+)$/.exec(line) ?? [];
      if (key === name && digits !== undefined) return BigInt(digits);
    }
    throw malformed(`${name} is missing`);
  };
  if (!lines.includes('|== ChineseSet ==|')) throw malformed('the heading is missing');
  const [primes, size] = [Number(field('n_primes')), Number(field('size'))];
  return chineseSetOf({ primes, size, candidates: Number(field('n_candidates')), offset: field('offset') });
}

/** Returns a set with these numbers. Throws `input-format` if they are out of bounds. */
export function chineseSetOf(numbers: Omit<ChineseSet, 'primorial'>): ChineseSet {
  const { primes, size, candidates, offset } = numbers;
  if (primes < MIN_SET_PRIMES || primes > MAX_SET_PRIMES)
    throw malformed(`n_primes is ${primes}, expected ${MIN_SET_PRIMES} to ${MAX_SET_PRIMES}`);
  if (size < 64 || size > MAX_SIZE) throw malformed(`size is ${size}, expected 64 to ${MAX_SIZE}`);
  const primorial = [...firstPrimes(primes)].reduce((product, p) => product * BigInt(p), 1n);
  if (offset >= primorial) throw malformed('the offset is not below the primorial');
  return { primes, size, candidates, offset: offset - (offset & 1n), primorial };
}
/** Limits for primorials: below, nothing is gained; above, numbers have more than 1,280 bits. */
const MIN_SET_PRIMES = 3;
const MAX_SET_PRIMES = 160;
const MAX_SIZE = 2 ** 17;

const malformed = (reason: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `not a set of intervals: ${reason}`,
    advice: 'a file has |== ChineseSet ==|, n_primes, size, n_candidates and offset, each on its own line',
  });
