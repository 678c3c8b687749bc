import { MAX_ROUNDS } from './cell-kernels.js';

/** The numbers of a search by cells; lengths are in places. */
export interface CellSearch {
  /** Half of the minimum gap. */
  readonly half: number;
  /** The mean distance of primes. */
  readonly mean: number;
  /** The share of candidates that are prime. */
  readonly primeShare: number;
}

/**
 * The cell length with the most places per test. Every cell needs 1 / `primeShare` tests for its last prime, and as many
 * again if the last prime of the next cell is too far away. Last primes lie before the ends of their cells by distances with
 * the mean `mean`, exponentially distributed: so that has the probability exp(−(half − length) / mean) / 2. With lengths in
 * units of the mean, length / (1 + exp(length − half) / 2) has its maximum where exp(length) · (length − 1) = 2 · exp(half).
 */
export function cellLength({ half, mean }: Pick<CellSearch, 'half' | 'mean'>): number {
  const limit = half / mean;
  let [low, high] = [1, limit];
  if (limit < 3) return half; // the maximum lies beyond
  while (high - low > 0.001) {
    const middle = (low + high) / 2;
    if (Math.exp(middle - limit) * (middle - 1) < 2) low = middle;
    else high = middle;
  }
  return Math.max(1, Math.min(half, Math.round(low * mean)));
}

/** The expected number of cells whose neighbour's last prime is too far away. */
export const expectedDistant = (cells: number, length: number, { half, mean }: CellSearch): number =>
  (cells * Math.exp((length - half) / mean)) / 2;

/**
 * The expected number of open searches in each round, up to the one in which each has a test for every candidate: the last,
 * which also completes searches that have more.
 */
export function expectedRounds(
  searches: number,
  length: number,
  width: number,
  { mean, primeShare }: CellSearch,
): number[] {
  const candidates = (MARGIN * length) / mean / primeShare;
  const rounds = [searches];
  for (let open = searches; open * candidates > width && rounds.length < MAX_ROUNDS; rounds.push(open)) {
    const taken = open < width ? open : open - (open % width);
    open -= taken * (1 - (1 - primeShare) ** Math.max(1, Math.floor(width / open)));
  }
  return rounds;
}
/** Cells differ in the number of their candidates. */
const MARGIN = 1.5;
