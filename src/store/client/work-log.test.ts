import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Indexed } from '../../engine/makers/reorder-buffer.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, type Range } from '../../engine/work/space.js';
import { hitsWithin, LedgerSource, partOf, type WorkLog } from './work-log.js';

interface Found extends Indexed {
  readonly of?: string;
}

/** Books in memory, which take no index twice, as the ledger does. */
function booksIn(done: readonly Range[] = [], found: readonly Found[] = []) {
  let all = Intervals.of(done);
  const hits: Found[] = [];
  const books: WorkLog<Found> = {
    completed: all,
    storedHits: found,
    add: (range, some) => {
      if (range && !all.within(range).isEmpty) throw new Error(`${range.start} would count twice`);
      if (range) all = all.add(range);
      hits.push(...some);
      return some.length > 0 ? Promise.resolve() : undefined;
    },
  };
  return { books, hits, ranges: () => [...all] };
}
const at = (...indices: number[]): Found[] => indices.map((index) => ({ index: BigInt(index) }));

describe('a part of a job', () => {
  const own = {
    toStored: ({ of }: Found) => ({ of: `kept ${of}` }),
    fromStored: (kept: Found, index: bigint) => ({ ...kept, index }),
  };

  it('sees what is its own in its own indices, and writes it down in the place it has', async () => {
    const found = [...at(19, 20, 27), { index: 30n, of: 'next' }];
    const { books, hits, ranges } = booksIn([between(15n, 22n), between(25n, 26n)], found);
    // The second of parts that try 5 to 15: 20 to 30 of the job.
    const part = partOf<Found, Found>(books, { space: between(5n, 15n), offset: 15n, ...own });
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

  it('has the hits that lie in it', () => {
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
