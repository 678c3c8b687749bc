import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Average, NO_AVERAGE, observe } from '../feed/throughput.js';
import {
  chooseVictim,
  type DeviceLoad,
  equalShares,
  expectedEnds,
  proportionalShares,
  slowdownOf,
  stallLimit,
  tailSize,
} from './balance.js';

const M = 1_000_000n;
const learned = (...samples: number[]): Average =>
  samples.reduce((average, sample) => observe(average, sample), NO_AVERAGE);

describe('the static partition', () => {
  test.each([
    [1000n, 4, [250n, 250n, 250n, 250n]],
    [1001n, 4, [251n, 250n, 250n, 250n]],
    [2n, 4, [2n, 0n, 0n, 0n]],
    [100n * M, 3, [33_333_334n, 33_333_333n, 33_333_333n]],
    [5n, 0, []],
  ])('of %i over %i devices', (total, devices, shares) => {
    expect(equalShares(total, devices)).toEqual(shares);
  });
});

describe('shares in proportion to speed', () => {
  test('devices of 500 and 300 M/s get 500 M and 300 M of 800 M words', () => {
    const speeds = [learned(500e6, 500e6, 500e6), learned(300e6, 300e6, 300e6)];
    expect(proportionalShares(800n * M, speeds)).toEqual([500n * M, 300n * M]);
    const equal = learned(400e6, 400e6, 400e6);
    expect(proportionalShares(1200n * M, [equal, equal, equal])).toEqual([400n * M, 400n * M, 400n * M]);
  });

  test('shares are equal until every device has three samples', () => {
    expect(proportionalShares(800n, [learned(5, 5, 5), learned(3, 3)])).toEqual([400n, 400n]);
    expect(proportionalShares(801n, [learned(5), learned(3)])).toEqual([401n, 400n]);
    expect(proportionalShares(7n, [])).toEqual([]);
  });

  test('an empty part, a still clock or zero speeds give finite shares to every device', () => {
    const idle = observe(learned(3, 3, 3), 0 / 0);
    expect(proportionalShares(800n, [learned(5, 5, 5), observe(idle, Number.POSITIVE_INFINITY)])).toEqual([500n, 300n]);
    expect(proportionalShares(10n, [learned(0, 0, 0), learned(0, 0, 0)])).toEqual([5n, 5n]);
  });

  test('shares add up, are not negative and are near their proportion, for any total', () => {
    const speed = fc.double({ min: 0, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(fc.bigInt(0n, 1n << 128n), fc.array(speed, { minLength: 1, maxLength: 9 }), (total, speeds) => {
        const shares = proportionalShares(
          total,
          speeds.map((each) => learned(each, each, each)),
        );
        expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(total);
        expect(shares.every((share) => share >= 0n)).toBe(true);
        const sum = speeds.reduce((all, each) => all + each, 0);
        for (const [at, share] of shares.slice(0, -1).entries()) {
          if (sum < 1e-300) continue;
          const off = Math.abs(Number(share) - Number(total) * (speeds[at]! / sum));
          expect(off).toBeLessThanOrEqual(speeds.length + Number(total) * 1e-12);
        }
      }),
    );
  });

  test('batches are within 3 % of the ideal time from the fourth on; equal shares take a third longer', () => {
    const rates = [500, 300];
    let speeds = rates.map(() => NO_AVERAGE);
    const over = Array.from({ length: 8 }, (_, batch) => {
      const times = proportionalShares(800n * M, speeds).map((share, at) => Number(share) / rates[at]!);
      // Measured with an error of up to ±5 %.
      speeds = speeds.map((speed, at) => observe(speed, rates[at]! * (1 + 0.05 * Math.sin(7 * batch + 3 * at))));
      return Math.max(...times) / (800e6 / 800);
    });
    for (const early of over.slice(0, 3)) expect(early).toBeCloseTo(4 / 3, 5);
    for (const later of over.slice(3)) expect(later).toBeLessThan(1.03);
  });
});

describe('the tail', () => {
  const load = (device: string, perMs: number | undefined, items = 0, minItems = 1): DeviceLoad => ({
    device,
    perMs,
    items,
    minItems,
  });
  const fast = load('fast', 500);
  const slow = load('slow', 300);

  test('far from the end, or with a single device, chunks have the wanted size', () => {
    expect(tailSize(fast, [fast, slow], 1e9, 25_000)).toBe(25_000);
    const only = load('only', undefined);
    expect(tailSize(only, [only], 100, 25_000)).toBe(25_000);
  });

  test('unmeasured devices have at most a quarter of the job in flight together', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 9 }),
        fc.integer({ min: 100, max: 2 ** 40 }),
        fc.integer({ min: 1, max: 2 ** 40 }),
        (devices, total, wanted) => {
          const loads: { -readonly [K in keyof DeviceLoad]: DeviceLoad[K] }[] = Array.from(
            { length: devices },
            (_, at) => load(`${at}`, undefined),
          );
          let waiting = total;
          for (let round = 0; round < 20; round++) {
            for (const me of loads) {
              const size = tailSize(me, loads, waiting, wanted);
              expect(round === 0 ? size : 1).toBeGreaterThan(0);
              me.items += size;
              waiting -= size;
            }
          }
          expect(total - waiting).toBeLessThanOrEqual(total / 4 + devices);
        },
      ),
    );
  });

  test('a measured device leaves an equal share to an unmeasured one', () => {
    const measured = load('measured', 500);
    expect(tailSize(measured, [measured, load('new', undefined)], 16_000, 25_000)).toBe(4000);
  });

  test('near the end each device takes half of its proportional share', () => {
    expect(tailSize(fast, [fast, slow], 16_000, 25_000)).toBe(5000);
    expect(tailSize(slow, [fast, slow], 16_000, 25_000)).toBe(3000);
  });

  test('items in flight count towards the share of a device', () => {
    const busy = load('fast', 500, 8000);
    expect(tailSize(busy, [busy, slow], 8000, 25_000)).toBe(1000);
    const full = load('fast', 500, 12_000);
    expect(tailSize(full, [full, slow], 4000, 25_000)).toBe(0);
  });

  test('a device whose minimum chunk would end too late stays idle, unless no other device is sooner', () => {
    const clumsy = load('clumsy', 1, 0, 10_000);
    expect(tailSize(clumsy, [clumsy, fast], 10_000, 10_000)).toBe(0);
    expect(tailSize(clumsy, [clumsy], 10, 10_000)).toBe(10_000);
    expect(tailSize(fast, [clumsy, fast], 10, 25_000)).toBe(500);
  });

  test('some device always takes the rest', () => {
    const some = fc.record({
      perMs: fc.double({ min: 1e-3, max: 1e7, noNaN: true }),
      items: fc.nat(1_000_000),
      minItems: fc.integer({ min: 1, max: 1_000_000 }),
    });
    fc.assert(
      fc.property(
        fc.array(some, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: 2 ** 40 }),
        (specs, waiting) => {
          const loads = specs.map(({ perMs, items, minItems }, at) => load(`d${at}`, perMs, items, minItems));
          const sizes = loads.map((me) => tailSize(me, loads, waiting, Math.max(me.minItems, 1000)));
          expect(Math.max(...sizes)).toBeGreaterThan(0);
          for (const [at, size] of sizes.entries())
            expect(size).toBeLessThanOrEqual(Math.max(loads[at]!.minItems, 1000));
        },
      ),
    );
  });
});

describe('late chunks', () => {
  const chunks = [
    { id: 1, dueMs: 50 },
    { id: 2, dueMs: 50 },
    { id: 3, dueMs: 10 },
  ];

  test('a chunk is expected to end after those queued before it', () => {
    expect([...expectedEnds({ chunks, runningMs: 20 })]).toEqual([
      [1, 30],
      [2, 80],
      [3, 90],
    ]);
    expect(slowdownOf({ chunks, runningMs: 20 })).toBe(1);
  });

  test('a late chunk is expected to be as late again, and those behind it as slow', () => {
    expect(slowdownOf({ chunks, runningMs: 200 })).toBe(4);
    expect([...expectedEnds({ chunks, runningMs: 200 })]).toEqual([
      [1, 150],
      [2, 350],
      [3, 390],
    ]);
  });

  test('no end is expected if a due time is unknown', () => {
    expect(expectedEnds({ chunks: [{ id: 1, dueMs: undefined }, ...chunks], runningMs: 5 }).size).toBe(0);
    expect(expectedEnds({ chunks: [], runningMs: 5 }).size).toBe(0);
    expect(slowdownOf({ chunks: [], runningMs: 5 })).toBe(1);
  });

  test('an idle device duplicates the chunk that would end last, if it is clearly sooner', () => {
    const victims = [
      { id: 1, count: 1000, endMs: 100 },
      { id: 2, count: 1000, endMs: 300 },
      { id: 3, count: 0, endMs: 900 },
    ];
    expect(chooseVictim(10, 0, victims)?.id).toBe(2); // 100 ms
    expect(chooseVictim(10, 150, victims)).toBeUndefined();
    expect(chooseVictim(4, 0, victims)).toBeUndefined();
  });

  test('the stall limit is eight times the due time, at least two seconds, or a minute if it is unknown', () => {
    expect([1, 250, 1000, undefined].map(stallLimit)).toEqual([2000, 2000, 8000, 60_000]);
  });
});
