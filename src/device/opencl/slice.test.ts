import { describe, expect, test } from 'vitest';
import { nextSlice } from './slice.js';

const wave = 8;

/** The slices of a launch whose items take `itemNs` each, which is known after the first slice. */
function slicesOf(count: number, itemNs: number, known?: number): number[] {
  const slices: number[] = [];
  let rate = known;
  for (let left = count; left > 0; ) {
    const items = nextSlice({ left, last: slices.at(-1) ?? 0, itemNs: rate, wave, unit: 1 });
    slices.push(items);
    left -= items;
    rate = itemNs;
  }
  return slices;
}

describe('slices of a launch', () => {
  test('cover it with at least one item each', () => {
    for (const count of [1, 2, 7, 8, 9, 1000, 12_345]) {
      for (const itemNs of [1, 100, 1e5, 1e8]) {
        const slices = slicesOf(count, itemNs);
        expect(slices.reduce((sum, items) => sum + items, 0)).toBe(count);
        expect(Math.min(...slices)).toBeGreaterThanOrEqual(1);
      }
    }
  });

  test('start small if nothing is known of it, and grow to 5 ms', () => {
    const slices = slicesOf(2 ** 24, 1000);
    expect(slices.slice(0, 4)).toEqual([8, 64, 512, 4096]);
    expect(slices[4]).toBe(5000);
    expect(Math.max(...slices)).toBeLessThanOrEqual(1.5 * 5000);
  });

  test('are not needed if its items are known to be quick; a longer launch starts with an eighth', () => {
    expect(slicesOf(900_000, 1, 1)).toEqual([900_000]);
    expect(slicesOf(10_000_000, 1, 1)).toEqual([625_000, 5_000_000, 4_375_000]);
  });

  test('hold one item if an item takes longer than a slice', () => {
    expect(slicesOf(5, 1e8, 1e8)).toEqual([1, 1, 1, 1, 1]);
  });

  test('consist of whole workgroups', () => {
    const state = { left: 100_000, last: 64, itemNs: 10_000, wave: 512, unit: 64 };
    expect(nextSlice(state) % 64).toBe(0);
    expect(nextSlice({ ...state, itemNs: 1e9 })).toBe(64);
  });
});
