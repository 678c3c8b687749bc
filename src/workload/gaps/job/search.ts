import { type ChunkSource, type Engine, type Progress, type Range, search } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import { DEFAULT_PRIMES, LEAST_PRIMES, planFor } from '../kernel/plan.js';
import { plantedCanary } from '../kernel/planted.js';
import { firstPrimes } from '../kernel/prime-table.js';
import { type FoundGap, type GapFlowOptions, gapFlow } from './flow.js';
import { Referee } from './referee.js';
import type { GapRuling, PlantedGaps } from './rulings.js';
import { checkNumbers, type Numbers } from './sieving.js';

/** Which gaps are looked for. */
export interface GapRequest extends GapFlowOptions {
  /** The first number. */
  readonly start: bigint;
  /** Integers from there on; gaps count that begin among them. */
  readonly length: bigint;
  readonly leastGap: number;
  /** Which of them, where not all: distances from the start. */
  readonly space?: Range;
  /** Primes to sieve with; fewer where the numbers are not larger than they are. */
  readonly primes?: number;
}

/** Two consecutive primes. */
export interface Gap {
  /** Where in the search's space it was found. */
  readonly index: bigint;
  /** Of the first one, from the request's start. */
  readonly offset: bigint;
  readonly start: bigint;
  readonly end: bigint;
}

/**
 * Every gap of at least `leastGap` that begins in the range, ascending. Devices find them; threads of the referee check each
 * by bigint arithmetic of their own, which takes tens of milliseconds: ask for gaps that are rare.
 */
export async function* searchGaps(request: GapRequest, running: Running): AsyncGenerator<Gap> {
  const { start, length, leastGap, primes = DEFAULT_PRIMES, space = length, ...options } = request;
  const { engine, signal, onProgress, source, onGap, referee = new Referee(), plant } = running;
  const numbers = { start, length, leastGap, primes: usablePrimes(start, primes) };
  checkNumbers(request);
  /** What the check has found out, until the gap is told. */
  const known = new Map<bigint, GapRuling>();
  /** A piece may be done twice, and what a device did may count only when others have done it again. */
  const told = new Set<bigint>();
  try {
    const window = Math.min(...engine.devices.map((device) => planFor(device, options).window));
    const planted = await (plant?.(numbers, window) ?? referee.ask('plantGaps', numbers, window));
    const found = search(gapFlow(numbers, { ...options, planted }), {
      engine,
      space,
      canaries: [plantedCanary(Math.max(1, window >> 3), planted.hits)],
      verify: async ({ index }) => {
        const ruling = await referee.ask('gapAt', start + index);
        known.set(index, ruling);
        if (!ruling.passes) return `but ${start + index} is composite`;
        if (ruling.end - start - index < BigInt(leastGap)) return `but ${ruling.end} is prime`;
        if (onGap && ruling.isPrime && !told.has(index)) {
          told.add(index);
          await onGap({ index, offset: index, start: start + index, end: ruling.end });
        }
        return true;
      },
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
      ...(source && { source }),
    });
    for await (const { index } of found) {
      // What an earlier run has found is not checked again, only completed.
      const { isPrime, end } = known.get(index) ?? (await referee.ask('gapAt', start + index));
      known.delete(index);
      // A number may pass Fermat's test and be composite: the device was right, and there is no gap.
      if (isPrime) yield { index, offset: index, start: start + index, end };
    }
  } finally {
    if (!running.referee) referee.close();
  }
}

/** Gaps that an earlier search has found, completed. */
export async function* knownGaps(start: bigint, found: readonly FoundGap[]): AsyncGenerator<Gap> {
  const referee = new Referee();
  try {
    for (const { index } of found) {
      const { isPrime, end } = await referee.ask('gapAt', start + index);
      if (isPrime) yield { index, offset: index, start: start + index, end };
    }
  } finally {
    referee.close();
  }
}

export interface Running {
  readonly engine: Engine;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Where work comes from and is written down, instead of memory. */
  readonly source?: ChunkSource<readonly FoundGap[]>;
  /**
   * Told each gap as soon as it is checked, in any order: it is one, also when its device should turn out to miss others.
   * The search waits for what is returned.
   */
  readonly onGap?: (gap: Gap) => void | Promise<void>;
  /** Whoever checks, where several searches share it; it is not closed with them. */
  readonly referee?: Referee;
  /** Gaps that are known, of numbers with as many bits: devices are tried on them. Default: the request's first. */
  readonly plant?: (numbers: Numbers, most: number) => Promise<PlantedGaps>;
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
