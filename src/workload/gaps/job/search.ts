import { type ChunkSource, type Engine, type JobProgress, type Range, search } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import { DEFAULT_PRIMES, MIN_PRIMES, planFor } from '../kernel/plan.js';
import { plantedCanary } from '../kernel/planted.js';
import { firstPrimes } from '../kernel/prime-table.js';
import { type FoundGap, type GapFlowOptions, gapFlow } from './flow.js';
import { checkNumbers, type Numbers } from './sieve-stage.js';
import { GapVerifier } from './verifier.js';
import type { GapCheck, PlantedGaps } from './verifier-tasks.js';

/** The gaps to search for. */
export interface GapRequest extends GapFlowOptions {
  /** The first number. */
  readonly start: bigint;
  /** Number of integers from there on; a gap counts if it begins among them. */
  readonly length: bigint;
  readonly minGap: number;
  /** The part to search, if not all: distances from the start. */
  readonly space?: Range;
  /** Number of primes to sieve with; fewer are used if the numbers are not larger than the primes. */
  readonly primes?: number;
}

/** Two consecutive primes. */
export interface Gap {
  /** Index in the search's space. */
  readonly index: bigint;
  /** Distance of the first prime from the request's start. */
  readonly offset: bigint;
  readonly start: bigint;
  readonly end: bigint;
}

/**
 * Yields every gap of at least `minGap` that begins in the range, ascending. Devices find them; the verifier's threads
 * check each by independent bigint arithmetic, which takes tens of milliseconds: ask for gaps that are rare.
 */
export async function* searchGaps(request: GapRequest, running: GapSearchOptions): AsyncGenerator<Gap> {
  const { start, length, minGap, primes = DEFAULT_PRIMES, space = length, ...options } = request;
  const { engine, signal, onProgress, source, onGap, verifier = new GapVerifier(), plant } = running;
  const numbers = { start, length, minGap, primes: usablePrimes(start, primes) };
  checkNumbers(request);
  /** Results of the checks, until their gaps are yielded. */
  const known = new Map<bigint, GapCheck>();
  /** Gaps passed to `onGap`: a piece may be run twice, as its results count only after a canary. */
  const passed = new Set<bigint>();
  try {
    const window = Math.min(...engine.devices.map((device) => planFor(device, options).window));
    const planted = await (plant?.(numbers, window) ?? verifier.call('plantGaps', numbers, window));
    const found = search(gapFlow(numbers, { ...options, planted }), {
      engine,
      space,
      canaries: [plantedCanary(Math.max(1, window >> 3), planted.hits)],
      verify: async ({ index }) => {
        const check = await verifier.call('gapAt', start + index);
        known.set(index, check);
        if (!check.passes) return `but ${start + index} is composite`;
        if (check.end - start - index < BigInt(minGap)) return `but ${check.end} is prime`;
        if (onGap && check.isPrime && !passed.has(index)) {
          passed.add(index);
          await onGap({ index, offset: index, start: start + index, end: check.end });
        }
        return true;
      },
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
      ...(source && { source }),
    });
    for await (const { index } of found) {
      // Gaps of an earlier run are not checked again, only completed.
      const { isPrime, end } = known.get(index) ?? (await verifier.call('gapAt', start + index));
      known.delete(index);
      // A composite may pass Fermat's test: the device was right, but there is no gap.
      if (isPrime) yield { index, offset: index, start: start + index, end };
    }
  } finally {
    if (!running.verifier) verifier.close();
  }
}

/** Completes the gaps that an earlier search has found. */
export async function* knownGaps(
  start: bigint,
  found: Iterable<FoundGap> | AsyncIterable<FoundGap>,
): AsyncGenerator<Gap> {
  const verifier = new GapVerifier();
  try {
    for await (const { index } of found) {
      const { isPrime, end } = await verifier.call('gapAt', start + index);
      if (isPrime) yield { index, offset: index, start: start + index, end };
    }
  } finally {
    verifier.close();
  }
}

export interface GapSearchOptions {
  readonly engine: Engine;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobProgress) => void;
  /** The chunk source, which also records finished work. Default: in memory. */
  readonly source?: ChunkSource<readonly FoundGap[]>;
  /**
   * Called with each gap as soon as it is checked, in any order. The gap is valid even if its device later turns out to
   * miss others. The search waits for the returned promise.
   */
  readonly onGap?: (gap: Gap) => void | Promise<void>;
  /** The verifier, if several searches share one; it is not closed with them. */
  readonly verifier?: GapVerifier;
  /** Known gaps of numbers with as many bits, for canaries. Default: among the request's first numbers. */
  readonly plant?: (numbers: Numbers, maxIntegers: number) => Promise<PlantedGaps>;
}

/** Limits the sieve to primes below the numbers: a prime would strike itself out. */
export function usablePrimes(start: bigint, requested: number): number {
  if (start > BigInt(MAX_TABLE_PRIME)) return requested;
  if (start < BigInt(MIN_START)) {
    throw new MillraceError({
      code: 'usage',
      message: `the numbers are too small to be sieved: expected a start of at least ${MIN_START}, got ${start}`,
      asked: `a search from ${start} on`,
      advice: `begin at ${MIN_START} or above`,
    });
  }
  const below = firstPrimes(requested).findIndex((p) => BigInt(p) >= start);
  return below < 0 ? requested : Math.max(below, MIN_PRIMES);
}
/** Larger than any prime of a table. */
const MAX_TABLE_PRIME = 2 ** 30;
/** The smallest table ends below this. */
const MIN_START = 64;
