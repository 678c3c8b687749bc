import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NO_AVERAGE, observe } from '../feed/throughput.js';
import { Intervals } from '../work/intervals.js';
import { between, endOf, MAX_INDICES } from '../work/space.js';
import { equalShares } from './balance.js';
import { cut, partsOf } from './partition.js';

const device = (...speeds: number[]) => ({
  throughput: { perMs: speeds.reduce((average, speed) => observe(average, speed), NO_AVERAGE) },
});

describe('parts', () => {
  test('are contiguous, in order and offset by the start', () => {
    const start = 1n << 53n;
    const todo = Intervals.of([{ start, length: 10n }]);
    expect(cut(todo, equalShares(10n, 3)).map((part) => [...todo.within(part)])).toEqual([
      [{ start, length: 4n }],
      [{ start: start + 4n, length: 3n }],
      [{ start: start + 7n, length: 3n }],
    ]);
  });

  test('tile all indices, each with its share of the remaining work, whatever its gaps', () => {
    const lengths = fc.array(fc.tuple(fc.bigInt(1n, 50n), fc.bigInt(1n, 50n)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 6 }), (pairs, devices) => {
        let at = 0n;
        const todo = Intervals.of(
          pairs.map(([gap, length]) => {
            const start = at + gap;
            at = start + length;
            return { start, length };
          }),
        );
        const shares = equalShares(todo.total, devices);
        const parts = cut(todo, shares);
        expect(parts.map((part) => todo.within(part).total)).toEqual(shares);
        expect(parts[0]?.start).toBe(0n);
        for (const [k, part] of parts.entries()) expect(endOf(part)).toBe(parts[k + 1]?.start ?? MAX_INDICES);
      }),
    );
  });

  test('are by speed once each device has been measured three times', () => {
    const todo = Intervals.of([between(0n, 800n)]);
    const fast = device(500, 500, 500);
    expect(partsOf('measured', [fast, device(300, 300)], todo)).toBeUndefined();
    const slow = device(300, 300, 300);
    const parts = partsOf('measured', [fast, slow], todo);
    expect([...todo.within(parts?.get(fast) ?? between(0n, 0n))]).toEqual([between(0n, 500n)]);
    expect(endOf(parts?.get(slow) ?? between(0n, 0n))).toBe(MAX_INDICES);
  });
});
