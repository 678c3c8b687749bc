import { describe, expect, it } from 'vitest';
import { rankSumBelow, signedRankBelow } from './rank.js';

describe('the signed-rank test', () => {
  it('is near the published critical values', () => {
    // One-sided 2.5 %: a rank sum of 8 for 10 values, of 52 for 20 (Wilcoxon's table).
    expect(signedRankBelow(withRankSum(10, 8))).toBeCloseTo(0.025, 2);
    expect(signedRankBelow(withRankSum(20, 52))).toBeCloseTo(0.025, 2);
  });
  it('finds no direction in symmetric values', () => {
    expect(signedRankBelow([1, -1, 2, -2, 3, -3])).toBeCloseTo(0.5, 1);
    expect(signedRankBelow([0, 0])).toBe(1);
  });
});

describe('the Mann–Whitney test', () => {
  it('is near the exact probabilities', () => {
    // Five against five: 1 of 252 orders has U = 0, 4 have U <= 2.
    expect(rankSumBelow([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])).toBeCloseTo(1 / 252, 2);
    expect(rankSumBelow([1, 2, 3, 4, 7], [5, 6, 8, 9, 10])).toBeCloseTo(4 / 252, 2);
    expect(rankSumBelow([1, 2, 3], [1, 2, 3])).toBeGreaterThan(0.4);
  });
});

/** The values 1 to n with signs. The positive ones, chosen from the largest down, have the sum `positive`. */
function withRankSum(n: number, positive: number): number[] {
  let left = positive;
  const signs = Array.from({ length: n }, (_, at) => n - at).map((rank) => {
    if (rank > left) return -rank;
    left -= rank;
    return rank;
  });
  if (left > 0) throw new Error('no ranks have this sum');
  return signs;
}
