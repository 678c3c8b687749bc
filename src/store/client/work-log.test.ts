import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Indexed } from '../../engine/makers/reorder-buffer.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, type Range } from '../../engine/work/space.js';
import { hitsWithin, LedgerSource, partOf, type WorkLog } from './work-log.js';

interface Found extends Indexed {
  readonly of?: string;
}

/** A work log in memory. Like the ledger, it rejects an index that is counted twice. */
function memoryLog(done: readonly Range[] = [], found: readonly Found[] = []) {
  let all = Intervals.of(done);
  const hits: Found[] = [];
  const log: WorkLog<Found> = {
    completed: all,
    storedHits: found,
    add: (range, some) => {
      if (range && !all.within(range).isEmpty) throw new Error(`${range.start} would count twice`);
      if (range) all = all.add(range);
      hits.push(...some);
      return some.length > 0 ? Promise.resolve() : undefined;
    },
  };
  return { log, hits, ranges: () => [...all] };
}
const at = (...indices: number[]): Found[] => indices.map((index) => ({ index: BigInt(index) }));

describe('a part of a job', () => {
  const own = {
    toStored: ({ of }: Found) => ({ of: `kept ${of}` }),
    fromStored: (kept: Found, index: bigint) => ({ ...kept, index }),
  };

  it('sees stored work at its own indices, and commits at the indices of the job', async () => {
    const found = [...at(19, 20, 27), { index: 30n, of: 'next' }];
    const { log, hits, ranges } = memoryLog([between(15n, 22n), between(25n, 26n)], found);
    // The part tries 5 to 15, which are 20 to 30 of the job.
    const part = partOf<Found, Found>(log, { space: between(5n, 15n), offset: 15n, ...own });
    expect([...part.completed]).toEqual([between(5n, 7n), between(10n, 11n)]);
    expect(part.storedHits.map(({ index }) => index)).toEqual([5n, 12n]);
    const source = new LedgerSource(part, between(5n, 15n));
    expect([source.take(), source.take(), source.take()]).toEqual([between(7n, 10n), between(11n, 15n), undefined]);
    await source.commit({ start: 7n, count: 3 }, [{ index: 8n, of: 'eight' }]);
    await source.commitEarly([{ index: 14n, of: 'ahead' }]);
    expect(hits).toEqual([
      { index: 23n, of: 'kept eight' },
      { index: 29n, of: 'kept ahead' },
    ]);
    expect(ranges()).toEqual([between(15n, 26n)]);
  });

  it('has the hits within its range', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40)), fc.nat(40), fc.nat(40), (indices, start, length) => {
        const hits = at(...indices.toSorted((a, b) => a - b));
        const range = { start: BigInt(start), length: BigInt(length) };
        const wanted = hits.filter(({ index }) => index >= range.start && index < endOf(range));
        expect(hitsWithin(hits, range)).toEqual(wanted);
      }),
    );
  });
});
