import { expect, test } from 'vitest';
import { MAX_ROUNDS } from './cell-kernels.js';
import { cellLength, expectedDistant, expectedRounds } from './cells.js';

/** Places per search of a cell's last prime, by the definition. */
const gain = (length: number, half: number, mean: number): number =>
  length / (1 + Math.exp((length - half) / mean) / 2);

test.each([
  [2212, 100],
  [1456, 97.5],
  [300, 100],
  [299, 100],
  [69, 100],
  [1, 22],
  [500_000, 443],
])('cells for gaps of 2·%i places, primes %d places apart, have the best length', (half, mean) => {
  const length = cellLength({ half, mean });
  const gains = Array.from({ length: Math.min(half, 5000) }, (_, i) => gain(half - i, half, mean));
  expect(Number.isInteger(length) && length >= 1 && length <= half).toBe(true);
  expect(gain(length, half, mean)).toBeGreaterThan(0.9999 * Math.max(...gains));
});

test('neighbours are too far away as often as distances of that mean say', () => {
  const search = { half: 2212, mean: 100, primeShare: 0.1466 };
  const length = cellLength(search);
  const random = lehmer(7);
  const distance = () => -Math.log(random()) * search.mean;
  let distant = 0;
  for (let i = 0; i < 50_000; i++) if (length + distance() - distance() >= search.half) distant++;
  expect(distant / expectedDistant(50_000, length, search)).toBeCloseTo(1, 1);
});

test('rounds end when every open search has a test for each of its candidates', () => {
  const search = { half: 2212, mean: 100, primeShare: 0.1466 };
  const length = cellLength(search);
  const candidates = length / search.mean / search.primeShare;
  const random = lehmer(11);
  for (const [searches, width] of [
    [20_000, 5000],
    [3000, 33_792],
    [5, 1000],
  ] as const) {
    const rounds = expectedRounds(searches, length, width, search);
    let open: number = searches;
    expect(rounds.every((expected, at) => at === 0 || expected < (rounds[at - 1] as number))).toBe(true);
    for (const _ of rounds.slice(0, -1)) {
      const share = Math.max(1, Math.floor(width / open));
      const taken = open < width ? open : open - (open % width);
      let left = open - taken;
      for (let i = 0; i < taken; i++) if (random() < (1 - search.primeShare) ** share) left++;
      open = left;
    }
    expect(open * candidates).toBeLessThanOrEqual(width);
  }
  expect(expectedRounds(1e6, length, 1, search)).toHaveLength(MAX_ROUNDS);
});

/** Lehmer's generator, in (0, 1). */
function lehmer(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state / 0x7fff_ffff;
  };
}
