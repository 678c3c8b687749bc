import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, type Range } from '../../engine/work/space.js';
import { LeaseTable } from './lease-table.js';
import { OrderedIndex } from './ordered-index.js';
import { PriorityIndex } from './priority-index.js';
import { beatMs, leaseLength, leaseMs, silenceMs } from './sizing.js';

describe('a lease table', () => {
  /** The same in the simplest way: for each index whether it counts, and who has it. */
  class Model {
    readonly counted: boolean[];
    readonly holders: Set<string>[];
    end: number;

    constructor(size: number) {
      this.counted = Array.from({ length: size }, () => false);
      this.holders = Array.from({ length: size }, () => new Set<string>());
      this.end = size;
    }

    get waiting(): number {
      return this.counted.filter((is, at) => at < this.end && !is && this.holders[at]?.size === 0).length;
    }

    hold({ start, length }: Range, id: string, which: (at: number) => boolean = () => true): void {
      for (let at = Number(start); at < Number(start + length); at++) if (which(at)) this.holders[at]?.add(id);
    }

    finish({ start, length }: Range): number {
      let fresh = 0;
      for (let at = Number(start); at < Math.min(this.end, Number(start + length)); at++) {
        if (this.counted[at] === false) fresh++;
        this.counted[at] = true;
        this.holders[at]?.clear();
      }
      return fresh;
    }

    isWaiting(at: number): boolean {
      return at < this.end && this.counted[at] === false && this.holders[at]?.size === 0;
    }
  }

  const SIZE = 60;
  const part = fc
    .tuple(fc.nat(SIZE - 1), fc.integer({ min: 1, max: 20 }))
    .map(([start, length]) => between(BigInt(start), BigInt(Math.min(SIZE, start + length))));
  const worker = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    fc.record({ do: fc.constant('grant' as const), worker, length: fc.bigInt(1n, 25n) }),
    fc.record({
      do: fc.constant('share' as const),
      worker,
      length: fc.bigInt(1n, 25n),
      perMs: fc.constantFrom(0.01, 1, 1e6),
    }),
    fc.record({ do: fc.constant('adopt' as const), worker, range: part }),
    fc.record({ do: fc.constant('finish' as const), worker, range: part }),
    fc.record({ do: fc.constant('release' as const), nth: fc.nat(20) }),
    fc.record({ do: fc.constant('lapse' as const), worker }),
    fc.record({ do: fc.constant('expect' as const), nth: fc.nat(20), at: fc.nat(1000) }),
    fc.record({ do: fc.constant('bound' as const), end: fc.integer({ min: 1, max: 4 * SIZE }) }),
  );

  test('has every index in one place, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const table = new LeaseTable(between(0n, BigInt(SIZE)));
        const model = new Model(SIZE);
        const ids: string[] = [];
        for (const [now, made] of steps.entries()) {
          const id = `${now}`;
          if (made.do === 'grant' || made.do === 'share' || made.do === 'adopt') {
            const grant = { id, worker: made.worker, request: now, expectedEnd: now + 100 };
            const lease =
              made.do === 'grant'
                ? table.grant(grant, made.length)
                : made.do === 'share'
                  ? table.share(grant, made.length, made.perMs, now)
                  : table.adopt(grant, made.range);
            if (lease === undefined) {
              if (made.do === 'grant') expect(model.waiting).toBe(0);
              continue;
            }
            ids.push(id);
            const isFree = (at: number) => model.isWaiting(at);
            const at = [...model.counted.keys()];
            if (made.do === 'grant') {
              expect(Number(lease.range.start)).toBe(at.find(isFree));
              expect(at.filter((index) => index >= lease.range.start && index < endOf(lease.range)).every(isFree)).toBe(
                true,
              );
            }
            if (made.do === 'share')
              for (const index of at.filter((of) => of >= lease.range.start && of < endOf(lease.range))) {
                const others = [...(model.holders[index] ?? [])].map(
                  (other) => steps[Number(other)] as { worker: string },
                );
                expect(others.length).toBeGreaterThan(0);
                expect(others.map((other) => other.worker)).not.toContain(made.worker);
              }
            model.hold(lease.range, id, made.do === 'adopt' ? isFree : undefined);
          } else if (made.do === 'finish') {
            const { newRanges } = table.finish(made.range, made.worker);
            expect(newRanges.reduce((sum, { length }) => sum + Number(length), 0)).toBe(model.finish(made.range));
          } else if (made.do === 'bound') {
            table.dropFrom(BigInt(made.end));
            model.end = Math.min(model.end, made.end);
            for (let at = model.end; at < SIZE; at++) model.holders[at]?.clear();
          } else if (made.do === 'expect') table.expect(ids[made.nth] ?? '', made.at);
          else {
            const gone =
              made.do === 'release' ? [ids[made.nth] ?? ''] : table.leasesOf(made.worker).map((lease) => lease.id);
            for (const lease of gone) for (const holders of model.holders) holders.delete(lease);
            if (made.do === 'release') table.release(gone[0] ?? '');
            else table.releaseWorker(made.worker);
          }
          table.check();
          expect(Number(table.waiting)).toBe(model.waiting);
          expect(table.size).toBe(new Set(model.holders.flatMap((holders) => [...holders])).size);
          expect(table.isComplete).toBe(model.counted.slice(0, model.end).every(Boolean));
        }
      }),
      { numRuns: byTier(60, 3000, 100_000) },
    );
  });

  test('shares the range that will be done last, from its end', () => {
    const table = new LeaseTable(between(0n, 300n));
    table.grant({ id: 'x', worker: 'a', request: 1, expectedEnd: 50 }, 100n);
    table.grant({ id: 'y', worker: 'b', request: 1, expectedEnd: 900 }, 100n);
    table.grant({ id: 'z', worker: 'c', request: 1, expectedEnd: 80 }, 100n);
    const ask = (id: string, perMs: number) => table.share({ id, worker: 'a', request: 2 }, 40n, perMs, 10);
    expect(ask('slow', 0.01)).toBeUndefined(); // it would take 4,000 ms
    expect(ask('p', 1)).toMatchObject({ range: { start: 160n, length: 40n }, expectedEnd: 50 });
    expect(table.finish(between(150n, 200n), 'a').overtaken).toMatchObject([
      { lease: { id: 'y' }, range: { start: 150n, length: 10n } },
      { lease: { id: 'y' }, range: { start: 160n, length: 40n } },
    ]);
    table.releaseWorker('b');
    expect(table.waiting).toBe(50n);
  });

  test('takes O(log n) steps an event, up to 10^5 leases', () => {
    /** Steps of an event when `leases` are live: grant, report of a part, report of the rest, lapse, share. */
    const stepsAt = (leases: number): number => {
      const table = new LeaseTable(between(0n, 1n << 100n));
      const grant = (id: number) => ({ id: `${id}`, worker: `w${id}`, request: 1, expectedEnd: (id * 7919) % 1000 });
      for (let id = 0; id < leases; id++) table.grant(grant(id), 1000n);
      const before = table.steps;
      const events = byTier(300, 1000);
      for (let event = 0; event < events; event++) {
        const id = (event * 104_729) % leases;
        const { start } = table.get(`${id}`)?.range ?? between(0n, 0n);
        table.finish(between(start, start + 300n), `w${id}`);
        table.expect(`${id}`, event);
        if (event % 3 === 0) table.releaseWorker(`w${id}`);
        else table.finish(between(start + 300n, start + 1000n), `w${id}`);
        table.grant(grant(leases + event), 1000n);
        table.share({ id: `s${event}`, worker: `v${event}`, request: 1 }, 100n, 1e6, 0);
      }
      return (table.steps - before) / events;
    };
    const sizes = byTier([500, 4000], [1000, 10_000, 100_000]);
    const steps = sizes.map(stepsAt);
    // Some 20 searches and moves, each of a few log2 n steps. Linear ones would be thousands.
    for (const [at, size] of sizes.entries()) expect(steps[at]).toBeLessThan(60 * Math.log2(size));
    expect(steps.at(-1)!).toBeLessThan(3 * steps[0]!);
  });
});

describe('indexes', () => {
  test('the ordered one finds what a sorted list finds', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.bigInt(0n, 40n)), { maxLength: 200 }), (steps) => {
        const index = new OrderedIndex<{ readonly start: bigint }>();
        const list = new Map<bigint, { readonly start: bigint }>();
        for (const [isAdded, start] of steps) {
          const known = list.get(start);
          if (known && !isAdded) {
            expect(index.delete(known)).toBe(true);
            list.delete(start);
          } else if (!known && isAdded) {
            list.set(start, { start });
            index.add(list.get(start)!);
          }
          const sorted = [...list.keys()].sort((a, b) => Number(a - b));
          expect([...index].map((value) => value.start)).toEqual(sorted);
          expect(index.at(start)?.start).toBe(sorted.filter((value) => value <= start).at(-1));
          expect([...index.from(start)].map((value) => value.start)).toEqual(sorted.filter((value) => value >= start));
        }
      }),
      { numRuns: byTier(20, 500) },
    );
  });

  test('the one by priority has the largest key on top', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(15), fc.option(fc.nat(1000))), { maxLength: 200 }), (steps) => {
        const items = Array.from({ length: 16 }, (_, at) => ({ at }));
        const index = new PriorityIndex<{ readonly at: number }>();
        const keys = new Map<number, number>();
        for (const [at, key] of steps) {
          if (key === null) {
            index.delete(items[at]!);
            keys.delete(at);
          } else {
            index.set(items[at]!, key);
            keys.set(at, key);
          }
          const top = keys.size === 0 ? undefined : Math.max(...keys.values());
          expect(index.top && keys.get(index.top.at)).toBe(top);
          expect(index.size).toBe(keys.size);
        }
      }),
      { numRuns: byTier(20, 500) },
    );
  });
});

describe('the size of leases', () => {
  test('starts at 2 s, doubles to 30 s, and shrinks at the end', () => {
    const times = [undefined, 2000, 4000, 16_000, 30_000].map((before) => leaseMs(before, 10, Infinity));
    expect(times).toEqual([2000, 4000, 8000, 30_000, 30_000]);
    expect(leaseMs(30_000, 10, 8000)).toBe(4000);
    expect(leaseMs(30_000, 10, 10)).toBe(500);
  });

  test('keeps requests below 200 a second and heartbeats below 2,000', () => {
    for (const workers of [1, 100, 5000, 20_000, 100_000]) {
      expect(workers / (leaseMs(1e9, workers, Infinity) / 1000)).toBeLessThanOrEqual(200 + 1e-9);
      expect(workers / (beatMs(workers) / 1000)).toBeLessThanOrEqual(2000 + 1e-9);
      expect(silenceMs(beatMs(workers))).toBeGreaterThan(4 * beatMs(workers));
    }
  });

  test('is in indices of the worker', () => {
    expect(leaseLength(undefined, 2000)).toBe(1024n);
    expect(leaseLength(1e7, 2000)).toBe(20_000_000_000n);
    expect(leaseLength(1e-9, 2000)).toBe(1n);
  });

  test('counts what the ledger has', () => {
    const done = Intervals.of([between(10n, 20n)]);
    const table = new LeaseTable(between(5n, 30n), done);
    expect(table.waiting).toBe(15n);
    expect(table.grant({ id: '1', worker: 'a', request: 1, expectedEnd: 0 }, 100n)?.range).toEqual(between(5n, 10n));
  });
});
