import { describe, expect, it } from 'vitest';
import { FIRST_GROUPS, Pace, SlicedLaunch, TARGET_MS } from './slice.js';

interface Simulated {
  readonly total: number;
  readonly perMs: number;
  readonly startMs?: number;
  /** Time of a workgroup, alone or with all others that fit on the device. */
  readonly groupMs?: number;
  readonly atOnce?: number;
}

/** Runs a launch on a device that does `perMs` groups a millisecond, `atOnce` slices at a time; returns their times. */
function simulate(
  run: SlicedLaunch,
  { total, perMs, startMs = 0.05, groupMs = 0, atOnce = 3 }: Simulated,
): { covered: boolean; times: number[] } {
  const times: number[] = [];
  const flying: { groups: number; ended(ms: number): void }[] = [];
  let next = 0;
  for (;;) {
    while (!run.isDone && flying.length < atOnce) {
      const slice = run.next();
      if (!slice) break;
      if (slice.first !== next || slice.groups < 1) return { covered: false, times };
      next += slice.groups;
      flying.push({ groups: slice.groups, ended: run.submitted(slice.groups) });
    }
    const first = flying.shift();
    if (!first) return { covered: next === total && run.isDone, times };
    const ms = startMs + Math.max(groupMs, first.groups / perMs);
    times.push(ms);
    first.ended(ms);
  }
}

describe('a launch in slices', () => {
  it.each([0.02, 0.7, 40, 3000, 1e6, 3e8])('covers all items in short slices at %d groups a millisecond', (perMs) => {
    const total = Math.ceil(perMs * 1000);
    const { covered, times } = simulate(new SlicedLaunch(total, new Pace(1), false), { total, perMs });
    expect(covered).toBe(true);
    // One group is the minimum: at 0.02 a millisecond it takes 50 ms.
    expect(Math.max(...times)).toBeLessThanOrEqual(Math.max(2 * TARGET_MS, 1 / perMs + 0.05));
    // A second of work takes no more slices than needed.
    expect(times.length).toBeLessThan(1000 / TARGET_MS + 40);
  });

  it('is one slice if the pace says that it is short', () => {
    const pace = new Pace(1, 1000);
    const run = new SlicedLaunch(20_000, pace, false);
    expect(run.next()).toEqual({ first: 0, groups: 20_000, expectedMs: 20 });
  });

  it('starts with a short slice if it is long: its job may be heavier than the last', () => {
    const run = new SlicedLaunch(1e9, new Pace(1, 1000), false);
    const first = run.next();
    expect(first?.expectedMs).toBeLessThan(TARGET_MS / 2);
    run.submitted(first?.groups ?? 0);
    expect(run.next()?.expectedMs).toBe(TARGET_MS);
  });

  it('waits for the first slice of an unknown program', () => {
    const run = new SlicedLaunch(1e9, new Pace(64), false);
    const ended = run.submitted(run.next()?.groups ?? 0);
    expect(run.next()).toBeUndefined();
    ended(1);
    expect(run.next()?.first).toBe(64);
  });

  it.each([1, 4, 9, 12, 20, 60, 300])('is not cut into slices that take as long as all of it: %i ms', (groupMs) => {
    const pace = new Pace(FIRST_GROUPS.gpu);
    const launch = (total: number) =>
      simulate(new SlicedLaunch(total, pace, false), { total, perMs: 208 / groupMs, groupMs }).times.length;
    // A launch of one workgroup does not show how many fit.
    const slices = [1, 1, ...Array<number>(20).fill(208)].map(launch);
    expect(slices.slice(-10)).toEqual(Array(10).fill(1));
    expect(slices.reduce((sum, n) => sum + n)).toBeLessThan(60);
  });

  it.each([3, 10, 30])('soon notices work that is %i times as heavy', (times) => {
    const pace = new Pace(FIRST_GROUPS.gpu);
    const total = 1e6;
    simulate(new SlicedLaunch(total, pace, false), { total, perMs: 1000 });
    const { covered, times: taken } = simulate(new SlicedLaunch(total, pace, false), { total, perMs: 1000 / times });
    expect(covered).toBe(true);
    // Three were submitted before the first ended.
    expect(taken.filter((ms) => ms > 2 * TARGET_MS).length).toBeLessThanOrEqual(3);
  });

  it('recovers after work with slow single groups', () => {
    const pace = new Pace(FIRST_GROUPS.gpu);
    for (let launch = 0; launch < 10; launch++) {
      simulate(new SlicedLaunch(300, pace, false), { total: 300, perMs: 1, groupMs: 100 });
    }
    const total = 1e5;
    const last = Array.from({ length: 10 }, () =>
      simulate(new SlicedLaunch(total, pace, false), { total, perMs: 100 }),
    ).at(-1);
    expect(Math.max(...(last?.times ?? []))).toBeLessThanOrEqual(2 * TARGET_MS);
  });

  it('slows down at once and speeds up step by step', () => {
    const pace = new Pace(1, 1000);
    const trial = () => pace.slice(1e9, true).groups;
    pace.learn(1000, 100);
    expect(trial()).toBe(10 * TARGET_MS);
    pace.learn(1e6, 1);
    expect(trial()).toBe(40 * TARGET_MS);
  });

  it('does not speed up later launches after items that do not exist', () => {
    const pace = new Pace(1, 100);
    // Up to 2^31 items, of which ten exist: the slices behind them are empty.
    const run = new SlicedLaunch(2 ** 31, pace, true);
    const { covered, times } = simulate(run, { total: 2 ** 31, perMs: 1e12 });
    expect(covered).toBe(true);
    expect(times.length).toBeLessThan(60);
    expect(pace.slice(1e9, true).groups).toBe(100 * TARGET_MS);
    // A slow slice does slow them down.
    new SlicedLaunch(2 ** 31, pace, true).submitted(1000)(100);
    expect(pace.slice(1e9, true).groups).toBe(10 * TARGET_MS);
  });
});
