import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { difficultyOf, expectedHashes, targetOfDifficulty } from './difficulty.js';
import { parseDifficulty } from './stratum-messages.js';

const ONE = 0xffffn << 208n;

describe('difficulties', () => {
  it.each([
    [1, ONE],
    [0.001, ONE * 1000n],
    [1e6, ONE / 1_000_000n],
    [931.1, (ONE * 10n) / 9311n],
    [0.1, ONE * 10n],
    [16_384, ONE >> 14n],
    [1.5e-7, (ONE * 100_000_000n) / 15n],
    [1e21, ONE / 10n ** 21n],
    [2 ** 53, ONE >> 53n],
    [1e-10, (1n << 256n) - 1n],
  ])('%d', (difficulty, target) => {
    expect(targetOfDifficulty(difficulty)).toBe(target);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, [1]])('%j is rejected', (difficulty) => {
    expect(() => parseDifficulty([difficulty])).toThrow(/is not a number above 0/);
  });

  it('give the floor of the division by the decimal that was written', () => {
    const digits = fc.integer({ min: 1, max: 10 ** 9 });
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 12 }), (whole, places) => {
        const text = `${whole}e-${places}`;
        const target = targetOfDifficulty(Number(text));
        fc.pre(target < (1n << 256n) - 1n);
        // target ≤ ONE / d < target + 1, without a division
        expect(target * BigInt(whole) <= ONE * 10n ** BigInt(places)).toBe(true);
        expect((target + 1n) * BigInt(whole) > ONE * 10n ** BigInt(places)).toBe(true);
      }),
    );
  });

  it('are computed back from targets', () => {
    for (const difficulty of [1, 0.001, 1e6, 931.1, 1e12]) {
      expect(difficultyOf(targetOfDifficulty(difficulty))).toBeCloseTo(difficulty, -Math.log10(difficulty) + 4);
    }
    // 2^32 hashes at difficulty 1, times 65,536 / 65,535.
    expect(expectedHashes(ONE) / 2 ** 32).toBeCloseTo(65_536 / 65_535, 9);
  });
});
