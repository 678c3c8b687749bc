import { type Range, search } from '../../../engine/index.js';
import { plantedCanary } from '../kernel/planted.js';
import { firstPrimes } from '../kernel/prime-table.js';
import { bitsOf } from '../kernel/reference.js';
import { type ChineseSet, compositeMask, type Intervals } from './chinese-set.js';
import type { FoundGap, PieceWork } from './flow.js';
import { intervalFlow, MAX_INTERVAL_PRIMES } from './interval-flow.js';
import type { Gap, GapSearchOptions } from './search.js';
import { GapVerifier } from './verifier.js';
import type { PrimePair } from './verifier-tasks.js';

/** The intervals to search, and the start that offsets count from. */
export interface IntervalRequest {
  readonly set: ChineseSet;
  readonly intervals: Intervals;
  /** The start of the search's range. */
  readonly start: bigint;
  /** The intervals to search, if not all. */
  readonly space?: Range;
  readonly primes?: number;
  readonly onPiece?: (work: PieceWork) => void;
}

/**
 * Yields the gaps around all intervals that have no prime, in the intervals' order. It finds fewer gaps than a search of
 * the whole range, and more in the same time: these intervals have far fewer candidates than others of their length.
 */
export async function* searchIntervals(request: IntervalRequest, running: GapSearchOptions): AsyncGenerator<Gap> {
  const { set, intervals, start, primes = MAX_INTERVAL_PRIMES, onPiece, space = intervals.count } = request;
  const { engine, signal, onProgress, source } = running;
  const { first, step, length } = intervals;
  const verifier = new GapVerifier();
  const known = new Map<bigint, PrimePair>();
  const around = (index: bigint): Promise<PrimePair> => verifier.call('primesAround', first + index * step);
  try {
    const planted = plantedIn(set, intervals);
    const used = Math.max(set.primes + 1, Math.min(primes, MAX_INTERVAL_PRIMES));
    const hits = await verifier.call('plantIntervals', intervals, used, planted.length, planted.count);
    const found = search(intervalFlow(set, intervals, { primes, planted, ...(onPiece && { onPiece }) }), {
      engine,
      space,
      canaries: [plantedCanary(planted.count, hits)],
      verify: async ({ index }) => {
        const gap = await around(index);
        known.set(index, gap);
        return gap.end - (first + index * step) > BigInt(length) || `but ${gap.end} is prime`;
      },
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
      ...(source && { source }),
    });
    for await (const { index } of found) {
      const gap = known.get(index) ?? (await around(index));
      known.delete(index);
      yield { index, offset: gap.start - start, ...gap };
    }
  } finally {
    verifier.close();
  }
}

/** Completes the gaps that an earlier search has found. */
export async function* knownIntervals(
  { first, step }: Intervals,
  start: bigint,
  found: Iterable<FoundGap> | AsyncIterable<FoundGap>,
): AsyncGenerator<Gap> {
  const verifier = new GapVerifier();
  try {
    for await (const { index } of found) {
      const gap = await verifier.call('primesAround', first + index * step);
      yield { index, offset: gap.start - start, ...gap };
    }
  } finally {
    verifier.close();
  }
}

/** The probability that an interval has no prime, from its candidates and the density of primes among them. */
export function emptyChance(set: ChineseSet, intervals: Intervals): number {
  return Math.exp(-expectedPrimes(set, intervals));
}

function expectedPrimes(set: ChineseSet, { first, length }: Intervals): number {
  const candidates = compositeMask(set, length / 2).reduce((sum, isStruck) => sum + 1 - isStruck, 0);
  const coprime = firstPrimes(set.primes).reduce((share, p) => share * (1 - 1 / p), 1);
  return candidates / (coprime * bitsOf(first) * Math.LN2);
}

/** The first intervals, shortened so that half of them have a prime. */
function plantedIn(set: ChineseSet, intervals: Intervals): { readonly count: number; readonly length: number } {
  const { count, length } = intervals;
  const half = Math.ceil((length * Math.LN2) / expectedPrimes(set, intervals) / 2) * 2;
  return { count: Number(count < PLANTED_INTERVALS ? count : PLANTED_INTERVALS), length: Math.min(length, half) };
}
/** Few tests each: the reference takes 20 ms for 16 intervals of 320 bits. */
const PLANTED_INTERVALS = 16n;
