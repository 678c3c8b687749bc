import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Intervals } from '../../engine/work/intervals.js';
import { between } from '../../engine/work/space.js';
import { PendingWork } from './pending.js';

it('completed ranges are merged in any order, and none is lost', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 60 })), (order) => {
      const pending = new PendingWork();
      for (const piece of order) pending.add({ start: BigInt(piece), end: BigInt(piece) + 1n, hits: piece });
      const wanted = Intervals.of(order.map((piece) => between(BigInt(piece), BigInt(piece) + 1n)));
      const done = pending.done.sort((a, b) => (a.start < b.start ? -1 : 1));
      const hits = done.reduce((sum, range) => sum + range.hits, 0);
      expect(hits).toBe(order.reduce((sum, piece) => sum + piece, 0));
      expect(Intervals.of(done.map(({ start, end }) => between(start, end)))).toEqual(wanted);
      expect(done.reduce((sum, { start, end }) => sum + end - start, 0n)).toBe(wanted.total);
      expect(done.length).toBe(wanted.count);
    }),
  );
});
