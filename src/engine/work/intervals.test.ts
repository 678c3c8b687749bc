import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { Random } from '../../device/conformance/model/random.js';
import { Intervals } from './intervals.js';
import { between, type Range } from './space.js';

/** The same set as a plain list of booleans, offset so that every width of index is tested. */
class Model {
  readonly in: boolean[] = new Array<boolean>(64).fill(false);
  readonly offset: bigint;

  constructor(offset: bigint) {
    this.offset = offset;
  }

  range(from: number, to: number): Range {
    return between(this.offset + BigInt(from), this.offset + BigInt(to));
  }

  runs(value: boolean, from = 0, to = 64): Range[] {
    const found: Range[] = [];
    for (let at = from; at < to; ) {
      let end = at;
      while (end < to && this.in[end] === value) end++;
      if (end > at) found.push(this.range(at, end));
      at = Math.max(end, at + 1);
    }
    return found;
  }
}

const step = fc.record({ add: fc.boolean(), ends: fc.tuple(fc.nat(64), fc.nat(64)) });
const offset = fc.constantFrom(0n, (1n << 32n) - 30n, (1n << 53n) - 30n, (1n << 64n) - 30n, (1n << 128n) - 64n);

test('agrees with a list of booleans after any adds and removes', () => {
  fc.assert(
    fc.property(offset, fc.array(step, { maxLength: 40 }), fc.tuple(fc.nat(64), fc.nat(64)), (base, steps, view) => {
      const model = new Model(base);
      let set = Intervals.none;
      for (const { add, ends } of steps) {
        const [from, to] = [Math.min(...ends), Math.max(...ends)];
        const before = [...set];
        const next = add ? set.add(model.range(from, to)) : set.remove(model.range(from, to));
        expect([...set]).toEqual(before); // the old set is unchanged
        set = next;
        model.in.fill(add, from, to);
        expect([...set]).toEqual(model.runs(true));
        expect(set.total).toBe(BigInt(model.in.filter(Boolean).length));
        expect(set.count).toBe(model.runs(true).length);
        expect(set.isEmpty).toBe(set.total === 0n);
        expect(set.first).toEqual(model.runs(true)[0]);
      }
      const [from, to] = [Math.min(...view), Math.max(...view)];
      const range = model.range(from, to);
      expect([...set.missing(range)]).toEqual(model.runs(false, from, to));
      expect([...set.within(range)]).toEqual(model.runs(true, from, to));
      expect(set.has(range)).toBe(model.in.slice(from, to).every(Boolean));
      const gap = model.in.indexOf(false, from);
      expect(set.firstMissing(range.start)).toBe(base + BigInt(gap < 0 ? 64 : gap));
    }),
    { numRuns: byTier(60, 300) },
  );
});

describe('at scale', () => {
  test('adds twenty thousand ranges in random order', () => {
    const random = new Random(1);
    const order = Array.from({ length: 20_000 }, (_, at) => at);
    for (let at = order.length - 1; at > 0; at--) {
      const other = random.below(at + 1);
      [order[at], order[other]] = [order[other]!, order[at]!];
    }
    const slot = (at: number): Range => ({ start: BigInt(at) << 70n, length: 1n << 69n });
    let set = Intervals.none;
    for (const at of order) set = set.add(slot(at));
    expect(set.count).toBe(20_000);
    expect(set.total).toBe(20_000n << 69n);
    // The gaps one by one, in another order: everything merges into one range.
    for (const at of order.reverse()) set = set.add({ start: (BigInt(at) << 70n) + (1n << 69n), length: 1n << 69n });
    expect([...set]).toEqual([{ start: 0n, length: 20_000n << 70n }]);
  });

  test('merges many ranges in one add', () => {
    let set = Intervals.of(Array.from({ length: 1000 }, (_, at) => between(BigInt(3 * at), BigInt(3 * at + 1))));
    expect(set.total).toBe(1000n);
    set = set.add(between(1n, 2999n));
    expect([...set]).toEqual([between(0n, 2999n)]);
    expect(set.remove(between(10n, 20n)).total).toBe(2989n);
  });
});
