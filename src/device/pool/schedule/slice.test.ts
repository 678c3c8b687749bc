import { expect, test } from 'vitest';
import { atLaunchStart, MIN_NS, nextSlice, type SliceState, TARGET_NS, updatedRate } from './slice.js';

const nothing: SliceState = { nsPerItem: 0, lastSlice: 0 };

/** Simulates a launch on `threads` threads whose items cost `cost` ns; returns its slices in order. */
function play(cost: (item: number) => number, items: number, lanes: number, threads: number, start = nothing) {
  const free = new Array<number>(threads).fill(0);
  const running: { end: number; items: number; took: number }[] = [];
  const slices: { items: number; took: number }[] = [];
  let state = start;
  let cursor = 0;
  while (cursor < items) {
    const thread = free.indexOf(Math.min(...free));
    const now = free[thread]!;
    for (const done of running.filter(({ end }) => end <= now)) {
      state = updatedRate(state, done.items, done.took);
      running.splice(running.indexOf(done), 1);
    }
    const size = nextSlice(state, items - cursor, lanes, threads);
    expect(size === items - cursor || size % lanes === 0).toBe(true);
    const took = 1000 + size * cost(cursor);
    running.push({ end: now + took, items: size, took });
    slices.push({ items: size, took });
    free[thread] = now + took;
    cursor += size;
  }
  return { slices, state, end: Math.max(...free), spread: Math.max(...free) - Math.min(...free) };
}

test.each([
  [1, 1],
  [1, 16],
  [10, 4],
  [1000, 16],
  [50_000, 2],
])('items of %i ns on %i threads: slices stay near the target and threads end together', (cost, threads) => {
  const items = Math.ceil((0.2e9 * threads) / cost);
  const { slices, end, spread } = play(() => cost, items, 16, threads);
  for (const { took } of slices) expect(took).toBeLessThan(1.5 * TARGET_NS + 16 * cost);
  expect(spread).toBeLessThan(2 * MIN_NS + 32 * cost);
  expect(end).toBeLessThan(0.2e9 * 1.1);
  expect(slices[0]!.items).toBe(16);
});

test('a known short launch is one slice', () => {
  const { state } = play(() => 10, 10_000_000, 16, 4);
  expect(nextSlice(atLaunchStart(state), 5000, 16, 4)).toBe(5000);
});

test('items that became a thousand times slower cost one slice of about 100 ms, not seconds', () => {
  const { state } = play(() => 1, 100_000_000, 16, 2);
  const { slices } = play(() => 1000, 10_000_000, 16, 2, atLaunchStart(state));
  expect(slices[0]!.took).toBeLessThan(0.3e9);
  for (const { took } of slices.slice(4)) expect(took).toBeLessThan(2 * TARGET_NS);
});
