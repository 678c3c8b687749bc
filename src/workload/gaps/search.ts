import { type Engine, type Progress, search } from '../../engine/index.js';
import { MillraceError } from '../../kernel/error.js';
import { type GapFlowOptions, gapFlow } from './flow.js';
import { DEFAULT_PRIMES, LEAST_PRIMES } from './plan.js';
import { firstPrimes } from './prime-table.js';
import { isProbablePrime, nextPrime, passesFermat } from './reference-primes.js';

/** Which gaps are looked for. */
export interface GapRequest extends GapFlowOptions {
  /** The first number. */
  readonly start: bigint;
  /** Integers from there on; gaps count that begin among them. */
  readonly length: bigint;
  readonly leastGap: number;
  /** Primes to sieve with; fewer where the numbers are not larger than they are. */
  readonly primes?: number;
}

/** Two consecutive primes. */
export interface Gap {
  /** Of the first one, from the request's start. */
  readonly offset: bigint;
  readonly start: bigint;
  readonly end: bigint;
}

/**
 * Every gap of at least `leastGap` that begins in the range, ascending. Devices find them; here each is checked by bigint
 * arithmetic of its own, which takes tens of milliseconds: ask for gaps that are rare.
 */
export async function* searchGaps(request: GapRequest, { engine, signal, onProgress }: Running): AsyncGenerator<Gap> {
  const { start, length, leastGap, primes = DEFAULT_PRIMES, ...options } = request;
  const numbers = { start, length, leastGap, primes: usablePrimes(start, primes) };
  check(request);
  /** Ends that the check has found, until the gap is told. */
  const ends = new Map<bigint, bigint>();
  const found = search(gapFlow(numbers, options), {
    engine,
    space: length,
    verify: ({ index }) => {
      const first = start + index;
      const end = nextPrime(first);
      ends.set(index, end);
      if (!passesFermat(first)) return `but ${first} is composite`;
      return end - first >= BigInt(leastGap) || `but ${end} is prime`;
    },
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
  });
  for await (const { index } of found) {
    const first = start + index;
    const end = ends.get(index) ?? nextPrime(first);
    ends.delete(index);
    // A number may pass Fermat's test and be composite: the device was right, and there is no gap.
    if (isProbablePrime(first)) yield { offset: index, start: first, end };
  }
}

export interface Running {
  readonly engine: Engine;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** A prime of the sieve would strike itself out: all must be below the numbers. */
export function usablePrimes(start: bigint, asked: number): number {
  if (start > BigInt(LARGEST)) return asked;
  if (start < BigInt(LEAST_START)) {
    throw new MillraceError({
      code: 'usage',
      message: 'the numbers are too small to be sieved',
      asked: `a search from ${start} on`,
      advice: `begin at ${LEAST_START} or above`,
    });
  }
  const below = firstPrimes(asked).findIndex((p) => BigInt(p) >= start);
  return below < 0 ? asked : Math.max(below, LEAST_PRIMES);
}
/** No prime of any table is as large. */
const LARGEST = 2 ** 30;
/** The smallest table ends below it. */
const LEAST_START = 64;

function check({ length, leastGap }: GapRequest): void {
  const isGap = Number.isInteger(leastGap) && leastGap >= 2 && leastGap % 2 === 0 && leastGap <= MOST_GAP;
  if (isGap && length >= 1n) return;
  throw new MillraceError({
    code: 'usage',
    message: isGap ? 'there is nothing to search' : `${leastGap} is no length of a gap to look for`,
    asked: `gaps of at least ${leastGap} in ${length} integers`,
    advice: isGap ? 'give at least one integer' : `give an even number from 2 to ${MOST_GAP}`,
  });
}
const MOST_GAP = 2 ** 20;
