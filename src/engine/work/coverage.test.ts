import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import {
  abandon,
  type Coverage,
  cover,
  dropFrom,
  duplicate,
  extend,
  finish,
  frontierOf,
  giveBack,
  isComplete,
  isHandedOut,
  queueRetry,
  take,
  unsharedIndices,
  waitingCount,
} from './coverage.js';
import { Intervals } from './intervals.js';
import { between, endOf, type Range, rangeOf } from './space.js';

const from = (coverage: Coverage, id: number, max: number, device = 'a') => take(coverage, { id, device, max })!;

describe('handing out', () => {
  test('starts with the lowest indices, skips those done, and clips at multiples of 2^32', () => {
    const base = (1n << 32n) - 10n;
    let state = cover([between(base, base + 100n)], Intervals.of([between(base + 4n, base + 6n)]));
    const pieces: unknown[] = [];
    for (let id = 0; !isHandedOut(state); id++) {
      const taken = from(state, id, 30);
      state = taken.coverage;
      pieces.push([taken.chunk.start - base, taken.chunk.count]);
    }
    expect(pieces).toEqual([
      [0n, 4],
      [6n, 4],
      [10n, 30],
      [40n, 30],
      [70n, 30],
    ]);
    expect(take(state, { id: 9, device: 'a', max: 1 })).toBeUndefined();
    expect(frontierOf(state)).toBe(base);
  });

  test('can be limited to a part of the space', () => {
    const state = cover([between(0n, 100n)]);
    const ask = { id: 0, device: 'b', max: 1000, within: between(40n, 60n) };
    const taken = take(state, ask)!;
    expect(taken.chunk).toMatchObject({ start: 40n, count: 20 });
    expect(take(taken.coverage, { ...ask, id: 1 })).toBeUndefined();
    expect(waitingCount(taken.coverage)).toBe(80n);
    // Indices to retry are handed out by the same rule.
    const retried = queueRetry(taken.coverage, 0, 5);
    expect(take(retried, { ...ask, id: 2, within: between(60n, 70n) })?.chunk.start).toBe(60n);
    expect(take(retried, { ...ask, id: 2 })?.chunk).toMatchObject({ start: 40n, count: 5 });
  });

  test('waits for ranges that are added later', () => {
    let state = cover([between(0n, 10n)], Intervals.none, 10n);
    state = finish(from(state, 0, 10).coverage, 0).coverage;
    expect([isHandedOut(state), isComplete(state), frontierOf(state)]).toEqual([true, false, 10n]);
    state = extend(state, between(10n, 30n), undefined);
    expect([isHandedOut(state), frontierOf(state)]).toEqual([false, 10n]);
    state = finish(from(state, 1, 20).coverage, 1).coverage;
    expect(isComplete(state)).toBe(true);
    // Indices above a hit are not waited for.
    expect(isComplete(dropFrom(cover([], Intervals.none, 5n), 5n).coverage)).toBe(true);
  });
});

describe('two devices on the same indices', () => {
  test('the first result counts, the other is no longer needed', () => {
    let state = from(cover([between(0n, 100n)]), 0, 100, 'slow').coverage;
    state = duplicate(state, { id: 1, device: 'fast', max: 60 }, 0)!.coverage;
    expect(unsharedIndices(state, 0)).toEqual([between(60n, 100n)]);
    state = duplicate(state, { id: 2, device: 'fast', max: 60 }, 0)!.coverage;
    expect(duplicate(state, { id: 3, device: 'fast', max: 60 }, 0)).toBeUndefined();
    const first = finish(state, 1);
    expect([first.newRanges, first.obsolete]).toEqual([[between(0n, 60n)], []]);
    const second = finish(first.coverage, 2);
    expect([second.newRanges, second.obsolete]).toEqual([[between(60n, 100n)], [0]]);
    expect(isComplete(second.coverage)).toBe(true);
    expect(finish(second.coverage, 0).newRanges).toEqual([]);
    // The other way round.
    const slow = finish(first.coverage, 0);
    expect([slow.newRanges, slow.obsolete]).toEqual([[between(60n, 100n)], [2]]);
  });

  test('an abandoned chunk still counts if it ends first', () => {
    let state = abandon(from(cover([between(0n, 10n)]), 0, 10, 'slow').coverage, 0);
    expect(waitingCount(state)).toBe(10n);
    expect(duplicate(state, { id: 9, device: 'b', max: 10 }, 0)).toBeUndefined(); // it would be a third copy
    state = from(state, 1, 4).coverage;
    const late = finish(state, 0);
    expect([late.newRanges, late.obsolete, waitingCount(late.coverage)]).toEqual([[between(0n, 10n)], [1], 0n]);
    expect(finish(late.coverage, 1).newRanges).toEqual([]);
    expect(waitingCount(giveBack(state, 0))).toBe(6n); // it fails: its indices already wait or are in flight elsewhere
    const again = queueRetry(from(state, 2, 6).coverage, 2, 3);
    expect(waitingCount(giveBack(again, 0))).toBe(6n); // also those that wait to be retried in smaller chunks
  });
});

test('an overflowed chunk is retried in smaller ones, lowest first', () => {
  let state = queueRetry(from(cover([between(0n, 1000n)]), 0, 100).coverage, 0, 40);
  const counts: number[] = [];
  for (let id = 1; id <= 4; id++) {
    const taken = from(state, id, 100);
    counts.push(taken.chunk.count);
    state = taken.coverage;
  }
  expect(counts).toEqual([40, 40, 20, 100]);
});

test('after a hit only the indices below it matter', () => {
  let state = cover([between(0n, 1000n)]);
  for (let id = 0; id < 4; id++) state = from(state, id, 100).coverage;
  const limited = dropFrom(state, 150n);
  expect(limited.obsolete).toEqual([2, 3]);
  state = giveBack(giveBack(limited.coverage, 2), 1);
  expect([...state.todo]).toEqual([between(100n, 150n)]);
  state = finish(finish(from(state, 4, 1000).coverage, 4).coverage, 0).coverage;
  expect(isComplete(state)).toBe(true);
});

/**
 * Random chunk histories. A plain list holds how often each index was counted. At any time every index is in at least
 * one of the four places (todo, retry, in flight, done), and in the end each has been counted once.
 */
test('every index counts once, whatever happens to chunks', () => {
  const SIZE = 200;
  const offset = (1n << 64n) - 100n; // across a multiple of 2^32, 2^53 and 2^64
  const step = fc.record({
    do: fc.constantFrom('take', 'take', 'take', 'finish', 'finish', 'fail', 'duplicate', 'abandon', 'overflow'),
    pick: fc.nat(1000),
    max: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      let state = cover([between(offset, offset + BigInt(SIZE))]);
      const counted = new Array<number>(SIZE).fill(0);
      let next = 0;
      const at = (index: bigint) => Number(index - offset);
      const mark = (range: Range) => {
        for (let index = range.start; index < endOf(range); index++) counted[at(index)]! += 1;
      };
      const end = (id: number) => {
        const done = finish(state, id);
        state = done.coverage;
        for (const range of done.newRanges) mark(range);
      };
      const check = () => {
        const places = new Array<number>(SIZE).fill(0);
        const put = (range: Range) => {
          for (let index = range.start; index < endOf(range); index++) places[at(index)]! |= 1;
        };
        for (const range of state.todo) put(range);
        for (const piece of state.retry) put(rangeOf(piece));
        for (const chunk of state.inFlight.values()) {
          if (!chunk.isAbandoned) put(rangeOf(chunk));
          expect(chunk.start >> 32n).toBe((chunk.start + BigInt(chunk.count) - 1n) >> 32n);
        }
        for (const range of state.done) put(range);
        expect(places.every((place) => place === 1)).toBe(true);
        // Nothing that waits is done, and nothing waits twice.
        const waiting = [...state.todo, ...state.retry.map(rangeOf)];
        expect(Intervals.of(waiting).total).toBe(waitingCount(state));
        for (const range of waiting) expect(state.done.within(range).isEmpty).toBe(true);
        expect(counted.map((times) => times > 0)).toEqual(
          counted.map((_, index) => state.done.has({ start: offset + BigInt(index), length: 1n })),
        );
        const missing = counted.indexOf(0);
        expect(frontierOf(state)).toBe(missing < 0 ? undefined : offset + BigInt(missing));
      };
      for (const { do: action, pick, max } of steps) {
        const ids = [...state.inFlight.keys()];
        const id = ids[pick % Math.max(1, ids.length)] ?? -1;
        if (action === 'take') state = take(state, { id: next++, device: 'a', max })?.coverage ?? state;
        else if (action === 'duplicate')
          state = duplicate(state, { id: next++, device: 'b', max }, id)?.coverage ?? state;
        else if (action === 'finish') end(id);
        else if (action === 'fail') state = giveBack(state, id);
        else if (action === 'abandon') state = abandon(state, id);
        else state = queueRetry(state, id, max);
        check();
      }
      while (!isComplete(state)) {
        const taken = take(state, { id: next++, device: 'a', max: 1000 });
        if (taken) state = taken.coverage;
        for (const id of state.inFlight.keys()) end(id);
      }
      expect(counted.every((times) => times === 1)).toBe(true);
      expect(state.done.total).toBe(BigInt(SIZE));
    }),
    { numRuns: byTier(40, 200) },
  );
});
