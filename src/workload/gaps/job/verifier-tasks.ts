import { firstPrimes } from '../kernel/prime-table.js';
import { bitsOf } from '../kernel/reference.js';
import { isProbablePrime, nextPrime, passesFermat, previousPrime } from '../kernel/reference-primes.js';
import { startsOf } from '../kernel/reference-sieve.js';
import type { Intervals } from './chinese-set.js';
import type { Numbers } from './sieve-stage.js';

/**
 * The functions that the verifier's threads run. All of it is bigint arithmetic that shares nothing with the kernels;
 * arguments and results are plain values, since they cross threads.
 */

/** The check of a number that a device reported as the start of a gap. */
export interface GapCheck {
  /** Whether it passes Fermat's test, as the device reported. */
  readonly passes: boolean;
  /** Whether it is prime. */
  readonly isPrime: boolean;
  /** The first prime after it; 0 if it does not pass Fermat's test. */
  readonly end: bigint;
}

function gapAt(first: bigint): GapCheck {
  if (!passesFermat(first)) return { passes: false, isPrime: false, end: 0n };
  return { passes: true, isPrime: isProbablePrime(first), end: nextPrime(first) };
}

/** Two consecutive primes around an even number. */
export interface PrimePair {
  readonly start: bigint;
  readonly end: bigint;
}

const primesAround = (even: bigint): PrimePair => ({
  start: previousPrime(even) ?? 0n,
  end: nextPrime(even),
});

/** Numbers whose gaps are known, for canaries. */
export interface PlantedGaps {
  /** The first number: the job's, or that of another job with numbers of as many bits. */
  readonly start: bigint;
  readonly count: number;
  /** The shortest gap that counts: shorter than the job's, so that there are some. */
  readonly minGap: number;
  /** Offsets of the gaps from `start`, ascending. */
  readonly hits: readonly bigint[];
}

/** Finds the gaps among the job's first numbers, at most `maxIntegers`. */
function plantGaps({ start, length, minGap, primes }: Numbers, maxIntegers: number): PlantedGaps {
  const logarithm = bitsOf(start) * Math.LN2;
  const count = Math.min(maxIntegers, Number(length), Math.ceil(PLANTED_PRIMES * logarithm));
  // Half of the gaps are longer than ln 2 times the average.
  const plantedGap = Math.min(minGap, 2 * Math.ceil((logarithm * Math.LN2) / 2));
  const passing = passingIn(start, count + plantedGap, primes);
  const hits = passing.filter((at, i) => at < count && (passing[i + 1] ?? Number.POSITIVE_INFINITY) - at >= plantedGap);
  return { start, count, minGap: plantedGap, hits: hits.map(BigInt) };
}
/** With 288 bits they take 20 ms to find, with 1,280 bits two seconds. */
const PLANTED_PRIMES = 12;

/** Offsets of the odd numbers that none of the first `primes` primes divides and that pass Fermat's test. */
function passingIn(start: bigint, length: number, primes: number): number[] {
  const known = firstPrimes(Math.min(primes, FEW_PRIMES));
  const base = start - (start & 1n);
  const skipped = Number(start - base);
  const isComposite = new Uint8Array(length + skipped);
  for (const [k, from] of startsOf(base, known).entries())
    for (let at = from; k > 0 && at < isComposite.length; at += 2 * (known[k] as number)) isComposite[at] = 1;
  const found: number[] = [];
  for (let at = 1; at < isComposite.length; at += 2) {
    const n = base + BigInt(at);
    if (isComposite[at] === 1 || at < skipped || !passesFermat(n)) continue;
    // Devices report a composite that passes as well, unless a larger prime of the table divides it.
    if (isProbablePrime(n) || firstPrimes(primes).every((p) => n % BigInt(p) !== 0n)) found.push(at - skipped);
  }
  return found;
}
const FEW_PRIMES = 2262;

/** The first `count` intervals, of `length` integers each, in which no number passes. */
function plantIntervals({ first, step }: Intervals, primes: number, length: number, count: number): bigint[] {
  const numbers = Array.from({ length: count }, (_, k) => BigInt(k));
  return numbers.filter((k) => passingIn(first + k * step, length, primes).length === 0);
}

export const verifierTasks = { gapAt, primesAround, plantGaps, plantIntervals };
