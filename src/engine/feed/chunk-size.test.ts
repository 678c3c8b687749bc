import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import {
  AIM_MS,
  afterCompletion,
  afterIssue,
  aimFor,
  type ChunkRules,
  chunkRules,
  firstChunk,
  fitSize,
  halved,
  sizeForBatch,
} from './chunk-size.js';
import { Lane } from './lane.js';
import type { ChunkOwner } from './owner.js';
import type { Pipeline } from './pipeline.js';

/** The stride of the seed's miner: 768 workgroups of 256 threads, 8 nonces each. */
const STRIDE = 768 * 256 * 8;
const miner: ChunkRules = chunkRules({ stride: STRIDE, granularity: 256, min: 256, max: 2 ** 32 }, 'interactive');

describe('the first chunk (C1, C2)', () => {
  test.each([
    [0, 393_216],
    [1, 393_216],
    [2, 786_432],
    [6, 262_144],
  ])('with %i active jobs has %i items', (active, items) => {
    expect(firstChunk(miner, active)).toMatchObject({ size: items, policy: 'init' });
  });

  test('is a multiple of the granularity, between the minimum size and the slot capacity (C6)', () => {
    expect(firstChunk(miner, 7).size).toBe(Math.floor(STRIDE / 7 / 256) * 256);
    expect(firstChunk({ ...miner, min: 1_000_001 }, 6).size).toBe(1_000_192);
    expect(firstChunk({ ...miner, max: 1000 }, 1).size).toBe(768);
    expect(firstChunk({ ...miner, max: 100 }, 1).size).toBe(100);
    expect(firstChunk({ ...miner, stride: 1, min: 1 }, 1).size).toBe(256);
  });
});

describe('doubling (C3)', () => {
  const stateAfter = (times: readonly number[], rules = miner) =>
    times.reduce((state, ms) => afterCompletion(rules, state, state.size, ms, 1), firstChunk(rules, 1));

  test('takes four completions in a row under half the aim', () => {
    expect(stateAfter([4, 4, 4])).toMatchObject({ size: 393_216, policy: 'hold' });
    expect(stateAfter([4, 4, 4, 4])).toMatchObject({ size: 786_432, policy: 'double' });
    expect(stateAfter([4, 4, 4, 5, 4, 4, 4]).size).toBe(393_216);
    expect(stateAfter([4, 4, 4, 5, 4, 4, 4, 4]).size).toBe(786_432);
    expect(stateAfter([4, 4, 4, 4, 4, 4, 4, 4]).size).toBe(4 * 393_216);
  });

  test('has a threshold proportional to the aim', () => {
    const batch = chunkRules(miner, 'batch');
    expect(stateAfter([24, 24, 24, 24], batch).policy).toBe('double');
    expect(stateAfter([24, 24, 24, 25], batch).policy).toBe('hold');
  });

  test('ignores short times of smaller chunks already in flight, but not long ones', () => {
    let state = stateAfter([4, 4, 4, 4]);
    for (let late = 0; late < 6; late++) state = afterCompletion(miner, state, 393_216, 1, 1);
    expect(state.size).toBe(786_432);
    for (const ms of [4, 4, 4]) state = afterCompletion(miner, state, 786_432, ms, 1);
    state = afterCompletion(miner, state, 393_216, 6, 1);
    state = afterCompletion(miner, state, 786_432, 4, 1);
    expect(state.size).toBe(786_432);
  });

  test('stops at the slot capacity', () => {
    const fast = new Array<number>(200).fill(0.001);
    expect(stateAfter(fast).size).toBe(2 ** 32);
    expect(stateAfter(fast, { ...miner, max: 1_000_000 }).size).toBe(999_936);
  });

  test('counts a clock that stands still as a short time', () => {
    expect(stateAfter([0, 0, 0, 0]).size).toBe(786_432);
  });
});

/** Simulates a device that does `perMs` items per millisecond with `slots` chunks in flight, until sizes settle. */
function settle(rules: ChunkRules, perMs: number, { slots = 6, chunks = 200, launchMs = 0.005, active = 1 } = {}) {
  let state = firstChunk(rules, active);
  const flight: number[] = [];
  const sizes: number[] = [];
  let ms = 0;
  for (let at = 0; at < chunks; at++) {
    while (flight.length < slots) {
      flight.push(state.size);
      state = afterIssue(state);
    }
    const count = flight.shift() ?? 0;
    const took = launchMs + count / perMs;
    ms += took;
    sizes.push(count);
    state = afterCompletion(rules, state, count, took, active);
  }
  return { size: state.size, tookMs: launchMs + state.size / perMs, sizes, ms };
}

describe('the time aim', () => {
  test.each(['interactive', 'batch'] as const)(
    '%s: every device settles between half of the aim and the aim',
    (aim) => {
      // From an interpreter to an H200 at 8 GH/s, whose first chunk takes 0.07 ms.
      for (const [perMs, stride] of [
        [8e6, 2_162_688],
        [1.57e6, STRIDE],
        [20_000, 4096],
        [100, 256],
        [3, 256],
      ] as const) {
        const { tookMs } = settle(chunkRules({ ...miner, stride, granularity: 1, min: 1 }, aim), perMs);
        expect(tookMs).toBeLessThanOrEqual(AIM_MS[aim] + 0.01);
        expect(tookMs).toBeGreaterThan(AIM_MS[aim] / 2 - 1.1);
      }
    },
  );

  test('an H200 settles within half a second of work', () => {
    const rules = chunkRules({ ...miner, stride: 2_162_688 }, 'batch');
    const { sizes, size } = settle(rules, 8e6);
    const before = sizes.slice(0, sizes.indexOf(size)).reduce((sum, count) => sum + count / 8e6, 0);
    expect(before).toBeLessThan(500);
  });

  test('a device that asks for 20 ms stays at 20 ms or below', () => {
    const rules = chunkRules(miner, 'batch', { chunkMs: 20 });
    expect(rules.aimMs).toBe(20);
    expect(settle(rules, 1e6).tookMs).toBeLessThanOrEqual(20.01);
  });

  test('several active jobs use the interactive aim', () => {
    const rules = chunkRules(miner, 'batch');
    expect(aimFor(rules, 1)).toBe(50);
    expect(aimFor(rules, 2)).toBe(10);
    expect(settle(rules, 1e6, { active: 4 }).tookMs).toBeLessThanOrEqual(10.01);
    // A job that was alone until now shrinks at its next completion.
    const alone = { ...firstChunk(rules, 1), size: 256 * 1000 };
    expect(afterCompletion(rules, alone, alone.size, 40, 2)).toMatchObject({ size: 256 * 250, policy: 'shrink' });
  });

  test('a tenfold slowdown shrinks the size at once; queued chunks of the old size do not shrink it further', () => {
    const rules = chunkRules({ ...miner, granularity: 1 }, 'batch');
    let state = afterCompletion(rules, { ...firstChunk(rules, 1), size: 400_000 }, 400_000, 400, 1);
    expect(state).toMatchObject({ size: 50_000, policy: 'shrink' });
    for (let late = 0; late < 5; late++) state = afterCompletion(rules, state, 400_000, 400, 1);
    expect(state.size).toBe(50_000);
  });

  test('a small chunk that took long does not change the size', () => {
    const state = { ...firstChunk(miner, 1), size: 1_000_192 };
    expect(afterCompletion(miner, state, 10, 300, 1).size).toBe(1_000_192);
  });

  test('the minimum size wins over the aim', () => {
    const wave = { ...chunkRules(miner, 'interactive'), min: 33_792, granularity: 33_792 };
    expect(settle(wave, 100).size).toBe(33_792);
  });
});

describe('halved (C5)', () => {
  test('halves, down to the minimum size', () => {
    const once = halved(miner, firstChunk(miner, 1));
    expect(once).toMatchObject({ size: 196_608, policy: 'shrink' });
    let state = once;
    for (let again = 0; again < 20; again++) state = halved(miner, state);
    expect(state.size).toBe(256);
  });

  test('needs four short completions again before it grows', () => {
    let state = firstChunk(miner, 1);
    for (let at = 0; at < 3; at++) state = afterCompletion(miner, state, state.size, 1, 1);
    state = halved(miner, state);
    for (let at = 0; at < 3; at++) state = afterCompletion(miner, state, state.size, 1, 1);
    expect(state.size).toBe(196_608);
  });
});

test('the policy behind a size is reported once; later chunks report hold', () => {
  let state = firstChunk(miner, 1);
  expect(afterIssue(state).policy).toBe('init'); // for every chunk sent before the first completion
  for (let at = 0; at < 4; at++) state = afterCompletion(miner, state, state.size, 1, 1);
  expect(state.policy).toBe('double');
  expect(afterIssue(state).policy).toBe('hold');
  expect(afterCompletion(miner, afterIssue(state), state.size, 9, 1).policy).toBe('hold');
});

test('sizes obey their rules for any kernel times', () => {
  const shape = fc.record({
    stride: fc.integer({ min: 1, max: 2 ** 24 }),
    granularity: fc.constantFrom(1, 64, 256, 33_792),
    min: fc.integer({ min: 1, max: 100_000 }),
    max: fc.integer({ min: 200_000, max: 2 ** 32 }),
  });
  const time = fc.oneof(fc.double({ min: 0, max: 6, noNaN: true }), fc.double({ min: 0, max: 3000, noNaN: true }));
  const event = fc.record({
    ms: time,
    lag: fc.nat(5),
    isCrowded: fc.boolean(),
    active: fc.integer({ min: 1, max: 6 }),
  });
  fc.assert(
    fc.property(
      shape,
      fc.constantFrom('interactive', 'batch'),
      fc.array(event, { maxLength: 60 }),
      (of, aim, events) => {
        const rules = chunkRules(of, aim);
        let state = firstChunk(rules, 1);
        const sent: number[] = [state.size];
        const times: { ms: number; aimMs: number }[] = [];
        for (const { ms, lag, isCrowded, active } of events) {
          const before = state;
          const count = sent[Math.max(0, sent.length - 1 - lag)]!;
          state = isCrowded ? halved(rules, state) : afterCompletion(rules, state, count, ms, active);
          if (!isCrowded) times.push({ ms, aimMs: aimFor(rules, active) });
          const floor = Math.ceil(of.min / of.granularity) * of.granularity;
          expect(state.size % of.granularity).toBe(0);
          expect(state.size).toBeGreaterThanOrEqual(Math.min(floor, before.size));
          expect(state.size).toBeLessThanOrEqual(of.max);
          if (state.size > before.size) {
            expect(state.policy).toBe('double');
            expect(state.size).toBeLessThanOrEqual(2 * before.size);
            expect(times.length).toBeGreaterThanOrEqual(4);
            const { aimMs } = times.at(-1)!;
            // The threshold may have been lower while more jobs were active; it is never met by a longer time.
            for (const last of times.slice(-4)) expect(last.ms).toBeLessThan(Math.max(last.aimMs, aimMs) / 2);
          }
          if (state.size < before.size) expect(state.policy).toBe('shrink');
          sent.push(state.size);
        }
      },
    ),
    { numRuns: byTier(100, 500) },
  );
});

test('fitSize rounds to a size that the shape allows', () => {
  const shape = { stride: 1, granularity: 100, min: 250, max: 1050 };
  expect([0, 299, 300, 399, 400, 999, 5000].map((items) => fitSize(shape, items))).toEqual([
    300, 300, 300, 300, 400, 900, 1000,
  ]);
});

describe('batch sizes', () => {
  const rules = chunkRules(
    {
      stride: 400,
      granularity: 100,
      min: 100,
      max: 400,
      batch: (queued) => [400, 300, 200][queued] ?? 100,
      expectedPerMs: 2,
    },
    'batch',
  );
  const sizes = (perMs: number | undefined, size = 100) =>
    [0, 1, 2, 3].map((queued) => sizeForBatch(rules, size, { perMs, queued, capacity: 4 }));
  test('follow the queue, before and after a speed is known', () => {
    expect(sizes(undefined)).toEqual([400, 300, 200, 100]);
    expect(sizes(1)).toEqual([400, 300, 200, 100]);
    expect(sizes(1, 300)).toEqual([400, 300, 300, 300]);
  });
  test('stay within the time of a chunk, or a quarter of it before a speed is known', () => {
    expect(sizes(0.25)).toEqual([200, 200, 200, 100]);
    const slow = { ...rules, expectedPerMs: 0.85 };
    expect(sizeForBatch(slow, 100, { perMs: undefined, queued: 0, capacity: 4 })).toBe(200);
    expect(
      sizeForBatch({ ...rules, expectedPerMs: undefined }, 100, { perMs: undefined, queued: 0, capacity: 4 }),
    ).toBe(100);
  });
});

test('a lane halves its next chunk (C5)', async () => {
  const flow = {
    shape: { stride: STRIDE, granularity: 256, min: 256, max: 2 ** 32 },
    slot: () => ({}),
    close: () => {},
  };
  const run = { job: { name: 'miner', flow: { open: () => flow } } } as unknown as ChunkOwner;
  const device = { info: { id: 'native', kind: 'native' } };
  const options = { isPersistent: false, slotsPerStream: 1 };
  const lane = new Lane(run, { device, streams: [{}], options } as unknown as Pipeline);
  await lane.open();
  lane.startSizing(1);
  expect(lane.next.size).toBe(393_216);
  lane.halveChunkSize();
  expect(lane.next).toEqual({ size: 196_608, policy: 'shrink' });
});
