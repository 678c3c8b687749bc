import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Intervals } from '../../engine/work/intervals.js';
import { between } from '../../engine/work/space.js';
import type { PlainValue } from '../manifest/index.js';
import { Provenance } from './provenance.js';

/** Leases of ten indices, done by one of three workers in any order. */
const works = fc.uniqueArray(fc.record({ lease: fc.nat(200), worker: fc.constantFrom('anna', 'ben', 'carl') }), {
  selector: ({ lease }) => lease,
  maxLength: 200,
});
const rangeOf = (lease: number) => between(BigInt(10 * lease), BigInt(10 * lease + 10));

/** Applies changes as the file of the coordinator's state does. */
function store(values: Map<string, PlainValue>, provenance: Provenance): void {
  for (const [key, value] of provenance.takeChanges())
    if (value === undefined) values.delete(key);
    else values.set(key, value);
}

test('is the merged ranges of each worker, also after it was stored and restored', () => {
  fc.assert(
    fc.property(works, (done) => {
      const provenance = new Provenance();
      const values = new Map<string, PlainValue>();
      for (const { lease, worker } of done) {
        provenance.add(worker, rangeOf(lease));
        store(values, provenance);
      }
      const restored = new Provenance();
      restored.restore(values);
      for (const { workers } of [provenance, restored])
        for (const name of ['anna', 'ben', 'carl']) {
          const right = Intervals.of(done.filter(({ worker }) => worker === name).map(({ lease }) => rangeOf(lease)));
          const part = workers.find(({ worker }) => worker === name);
          expect(part?.ranges ?? []).toEqual([...right]);
          expect(part?.indices ?? 0n).toBe(right.total);
          expect(part?.isExact ?? true).toBe(true);
        }
    }),
  );
});

test('stays small: ranges are joined, and still hold all that a worker did', () => {
  fc.assert(
    fc.property(works, fc.integer({ min: 3, max: 20 }), (done, max) => {
      const provenance = new Provenance(max);
      const values = new Map<string, PlainValue>();
      for (const { lease, worker } of done) {
        provenance.add(worker, rangeOf(lease));
        store(values, provenance);
      }
      const restored = new Provenance(max);
      restored.restore(values);
      for (const { workers } of [provenance, restored]) {
        expect(workers.reduce((sum, { ranges }) => sum + ranges.length, 0)).toBeLessThanOrEqual(
          Math.max(max, 2 * workers.length),
        );
        for (const { worker, indices, ranges } of workers) {
          const own = done.filter((one) => one.worker === worker);
          expect(indices).toBe(BigInt(10 * own.length));
          const covered = Intervals.of(ranges);
          for (const { lease } of own) expect(covered.has(rangeOf(lease))).toBe(true);
        }
      }
    }),
  );
});

test('knows what rests on the word of some workers alone, and forgets what is reopened', () => {
  const names = ['anna', 'ben', 'carl'] as const;
  const agreements = fc.array(
    fc.record({ lease: fc.nat(200), length: fc.integer({ min: 1, max: 30 }), worker: fc.constantFrom(...names) }),
    { maxLength: 60 },
  );
  // After ranges are reopened two workers have done the same, and the one whose ranges were cut is put in last.
  const equalParts = [
    { lease: 0, worker: 'anna' as const },
    { lease: 1, worker: 'carl' as const },
    { lease: 2, worker: 'anna' as const },
  ];
  fc.assert(
    fc.property(
      works,
      agreements,
      fc.subarray([...names]),
      fc.integer({ min: 20, max: 1000 }),
      (done, agreed, doubted, max) => {
        let provenance = new Provenance(max);
        const values = new Map<string, PlainValue>();
        for (const { lease, worker } of done) provenance.add(worker, rangeOf(lease));
        const ofAgreement = ({ lease, length }: { lease: number; length: number }) =>
          between(BigInt(10 * lease), BigInt(10 * lease + length));
        for (const one of agreed) provenance.agree(one.worker, ofAgreement(one));
        store(values, provenance);
        provenance = new Provenance(max);
        provenance.restore(values);
        const isDoubted = (worker: string): boolean => doubted.includes(worker as (typeof names)[number]);
        const isExact = provenance.workers.every((part) => part.isExact);

        // By index: who did it, and whether another has agreed.
        const confirmed = Intervals.of(agreed.filter(({ worker }) => !isDoubted(worker)).map(ofAgreement));
        let right = Intervals.of(done.filter(({ worker }) => isDoubted(worker)).map(({ lease }) => rangeOf(lease)));
        for (const range of confirmed) right = right.remove(range);
        const resting = provenance.restingOn(isDoubted);
        for (const range of right) expect(resting.has(range)).toBe(true);
        if (isExact && max === 1000) expect([...resting]).toEqual([...right]);

        provenance.remove(resting);
        expect(provenance.restingOn(isDoubted).isEmpty).toBe(true);
        store(values, provenance);
        const restored = new Provenance(max);
        restored.restore(values);
        expect(restored.workers).toEqual(provenance.workers);
        if (!isExact) return;
        const left = done.reduce((sum, { lease }) => sum + 10n - resting.within(rangeOf(lease)).total, 0n);
        expect(provenance.workers.reduce((sum, { indices }) => sum + indices, 0n)).toBe(left);
      },
    ),
    { examples: [[equalParts, [{ lease: 1, length: 20, worker: 'carl' }], ['anna'], 20]] },
  );
});

test('an agreement counts only as long as the worker that has agreed is believed', () => {
  const provenance = new Provenance();
  provenance.add('new', between(0n, 30n));
  provenance.agree('liar', between(0n, 20n));
  provenance.agree('anna', between(10n, 30n));
  const isLiar = (worker: string): boolean => worker === 'liar';
  expect([provenance.involves(isLiar), provenance.involves((worker) => worker === 'ben')]).toEqual([true, false]);
  const doubted = provenance.restingOn(
    (worker) => worker !== 'anna',
    (worker) => !isLiar(worker),
  );
  expect([...doubted]).toEqual([between(0n, 10n)]);
});
