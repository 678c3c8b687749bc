import {
  atomic,
  cell,
  type Expr,
  items,
  lit,
  max,
  min,
  read,
  rw,
  select,
  tiles,
  type Unsigned,
  when,
  whileTrue,
} from '../../../kernel/index.js';
import { limbsOf, primalityTest } from './chain-kernel.js';
import { TALLY_WORDS, TallyIndex } from './sieve-kernels.js';

/**
 * The search by cells, for devices with thousands of threads. The places of a piece are cut into cells that are not longer
 * than the minimum gap, so a gap that is long enough can only follow the last prime of a cell. First the last prime of every
 * cell is searched for, downwards. If the last primes of two neighbours are closer than the minimum gap, nothing is left to
 * do; otherwise any prime between, less than the minimum gap after the first, is searched for. If there is none, the gap is
 * long enough.
 *
 * Searches run in rounds: open searches contribute their next candidates to one launch of tests, then the closed ones are
 * removed from the list. While more than `width` searches are open, each contributes one candidate, and the number of tests
 * is a multiple of `width`: the others wait for the next round, as threads would otherwise. Later each contributes several.
 */

/** Words of `tally` after those that the host reads: the number of open searches in each round, of both kinds of search. */
export const MAX_ROUNDS = 64;
export const CELL_TALLY_WORDS = TALLY_WORDS + 2 * MAX_ROUNDS;
/** The word of a round: `second` selects the searches between neighbours. */
export const roundWord = (round: number, second: boolean): number => TALLY_WORDS + (second ? MAX_ROUNDS : 0) + round;

/** Cuts the places into cells: one item for each, and one for the end of the last. All searches are open. */
export const cells = items(
  'gaps-cells',
  {
    chunk: { length: 'u32', cells: 'u32', owned: 'u32', room: 'u32' },
    buffers: {
      candidate: read('u32'),
      tally: atomic(),
      /** Two words for each search: the index of the first candidate, and the end of those that are not tested yet. */
      bounds: rw('u32'),
      /** The index of the prime that a search has found, plus 1, or 0. */
      best: rw('u32'),
      /** The open searches. */
      live: rw('u32'),
    },
  },
  ({ item, chunk, buffers: { candidate, tally, bounds, best, live } }) => {
    const total = min(tally.load(TallyIndex.candidates), chunk.room);
    const at = countBelow(candidate, lit('u32', 0), total, min(item.mul(chunk.length), chunk.owned));
    bounds.set(lowerOf(item), at);
    when(item.ne(0), () => bounds.set(upperOf(item.sub(1)), at)).otherwise(() => {
      tally.store(roundWord(0, false), chunk.cells);
    });
    when(item.lt(chunk.cells), () => {
      best.set(item, 0);
      live.set(item, item);
    });
  },
);

/**
 * One round of tests, shared by `threads` items, a multiple of `WORKGROUP`. Tests are dealt out to all workgroups, a warp's at
 * a time: so a round with fewer tests than threads occupies all multiprocessors. `best` becomes the highest index that
 * passes, plus 1. In the last round items go on until their search is decided; by then few are open, and each has a test for
 * all of its candidates.
 */
export const roundTests = <L extends Unsigned>(shape: { readonly limb: L; readonly bits: number }) =>
  items(
    'gaps-round-tests',
    {
      chunk: {
        base: [shape.limb, limbsOf(shape)] as [L, number],
        threads: 'u32',
        width: 'u32',
        round: 'u32',
        isLast: 'u32',
      },
      buffers: {
        candidate: read('u32'),
        tally: atomic(),
        bounds: read('u32'),
        best: atomic(),
        live: read('u32'),
      },
    },
    ({ item, chunk, buffers: { candidate, tally, bounds, best, live } }) => {
      const { threads, width, round, isLast } = chunk as unknown as Readonly<Record<RoundField, Expr<'u32'>>>;
      const passes = primalityTest(shape, chunk.base as unknown as readonly Expr<L>[]);
      const { share, taken } = roundOf(width, tally.load(round), isLast);
      const warp = item
        .shr(5)
        .and(WORKGROUP / 32 - 1)
        .mul(threads.div(WORKGROUP))
        .add(item.div(WORKGROUP));
      const test = cell('u32', warp.shl(5).add(item.and(31)));
      whileTrue(
        () => test.lt(taken.mul(share)),
        () => {
          const slot = test.get().div(share);
          const search = live.at(slot);
          const low = bounds.at(lowerOf(search));
          const all = bounds.at(upperOf(search)).sub(low);
          /** The next candidate is number `rest` − 1 from `low` on; 0 if there is none. */
          const rest = cell('u32', all.sub(min(all, test.get().sub(slot.mul(share)))));
          whileTrue(
            () => rest.ne(0),
            () => {
              const end = low.add(rest);
              const next = cell('u32', rest.get().sub(min(rest.get(), share)).mul(isLast));
              when(passes(candidate.at(end.sub(1))), () => {
                best.max(search, end);
                next.set(0);
              });
              // Another item may have found a prime above the next candidate.
              when(next.ne(0), () => {
                when(best.load(search).gt(low.add(next)), () => next.set(0)).otherwise(() => {
                  tally.add(TallyIndex.tests, 1);
                });
              });
              rest.set(next);
            },
            { isLong: true }, // a test takes up to a millisecond
          );
          test.set(test.add(threads));
        },
      );
    },
  );

type RoundField = 'threads' | 'width' | 'round' | 'isLast';
/** Threads of a workgroup on a GPU. */
export const WORKGROUP = 256;

/** Ends a round: counts its tests, and lists the searches that are still open in `next`. */
export const closeRound = tiles(
  'gaps-close-round',
  {
    chunk: { width: 'u32', round: 'u32', isLast: 'u32' },
    buffers: {
      tally: atomic(),
      bounds: rw('u32'),
      best: read('u32'),
      live: read('u32'),
      next: rw('u32'),
    },
  },
  ({ tile, chunk, near, each, sum, scan, once, buffers: { tally, bounds, best, live, next } }) => {
    const counts = near('u32', CLOSED_AT_ONCE);
    const to = near('u32', 1);
    const open = tally.load(chunk.round);
    const { share, taken } = roundOf(chunk.width, open, chunk.isLast);
    const first = tile.mul(CLOSED_AT_ONCE);
    const ownOf = (count: Expr<'u32'>) => min(count.sub(min(count, first)), CLOSED_AT_ONCE);
    const [own, tested] = [ownOf(open), ownOf(taken)];
    const searchAt = (i: Expr<'u32'>) => live.at(first.add(i));
    const left = (search: Expr<'u32'>) => bounds.at(upperOf(search)).sub(bounds.at(lowerOf(search)));
    const isOpen = (search: Expr<'u32'>) => best.at(search).eq(0).and(left(search).ne(0));

    const tests = sum('u32', tested, (i) => min(left(searchAt(i)), share));
    const primes = sum('u32', tested, (i) => min(best.at(searchAt(i)), 1));
    each(CLOSED_AT_ONCE, (i) => {
      counts.set(i, 0);
      when(i.lt(own), () => {
        const search = searchAt(i);
        when(i.lt(tested), () => {
          bounds.set(upperOf(search), bounds.at(upperOf(search)).sub(min(left(search), share)));
        });
        counts.set(i, isOpen(search).to('u32'));
      });
    });
    const total = scan(CLOSED_AT_ONCE, counts);
    once(() => {
      to.set(0, tally.add(chunk.round.add(1), total));
      tally.add(TallyIndex.tests, tests);
      tally.add(TallyIndex.primes, primes);
    });
    each(own, (i) => {
      const search = searchAt(i);
      when(isOpen(search), () => next.set(to.at(0).add(counts.at(i)), search));
    });
  },
);
/** Searches that one tile closes. */
export const CLOSED_AT_ONCE = 256;

/**
 * Opens the searches between neighbours, one item per cell. From the last prime of a cell to the next cell that has a prime
 * there are none. If the last prime there is too far away, the search is opened; its bounds are those in `between`. Otherwise
 * they are in the wrong order.
 */
export const neighbours = items(
  'gaps-neighbours',
  {
    chunk: { cells: 'u32', half: 'u32', room: 'u32' },
    buffers: {
      candidate: read('u32'),
      tally: atomic(),
      bounds: read('u32'),
      best: read('u32'),
      between: rw('u32'),
      live: rw('u32'),
    },
  },
  ({ item, chunk, buffers: { candidate, tally, bounds, best, between, live } }) => {
    const own = best.at(item);
    const [low, end] = [cell('u32', 1), cell('u32', 0)];
    when(own.ne(0), () => {
      const total = min(tally.load(TallyIndex.candidates), chunk.room);
      const limit = candidate.at(own.sub(1)).add(chunk.half);
      const [next, found] = [cell('u32', item.add(1)), cell('u32', 0)];
      whileTrue(
        () => next.lt(chunk.cells).and(found.eq(0)),
        () => {
          found.set(best.at(next));
          next.set(next.add(found.eq(0).to('u32')));
        },
      );
      const isNear = cell('bool', lit('bool', false));
      when(found.ne(0), () => isNear.set(candidate.at(found.sub(1)).lt(limit)));
      when(isNear.get().not(), () => {
        const first = bounds.at(lowerOf(next));
        low.set(first);
        end.set(countBelow(candidate, first, max(first, min(first.add(chunk.half), total)), limit));
      });
    });
    between.set(lowerOf(item), low);
    between.set(upperOf(item), end);
    when(low.lt(end), () => live.set(tally.add(roundWord(0, true), 1), item));
  },
);

/** Emits the last prime of each cell with a search between neighbours that found none; `answer` are its results. */
export const cellGaps = items(
  'gaps-cell-gaps',
  {
    buffers: { candidate: read('u32'), best: read('u32'), between: read('u32'), answer: read('u32') },
    hit: { place: 'u32' },
  },
  ({ item, buffers: { candidate, best, between, answer }, emit }) => {
    const wasSearched = between.at(lowerOf(item)).le(between.at(upperOf(item)));
    when(wasSearched.and(answer.at(item).eq(0)), () => emit({ place: candidate.at(best.at(item).sub(1)) }));
  },
);

const lowerOf = (search: Expr<'u32'>): Expr<'u32'> => search.shl(1);
const upperOf = (search: Expr<'u32'>): Expr<'u32'> => search.shl(1).add(1);

/** The tests of each search in a round, and the number of searches that take part. */
function roundOf(width: Expr<'u32'>, open: Expr<'u32'>, isLast: Expr<'u32'>) {
  const share = max(width.div(max(open, 1)), 1);
  return { share, taken: select(open.lt(width).or(isLast.ne(0)), open, open.sub(open.rem(width))) };
}

/** The first index in [low, high] whose place is not below `limit`, or `high`. */
function countBelow(
  candidate: { at(index: Expr<'u32'>): Expr<'u32'> },
  low: Expr<'u32'>,
  high: Expr<'u32'>,
  limit: Expr<'u32'>,
): Expr<'u32'> {
  const [lower, upper] = [cell('u32', low), cell('u32', high)];
  whileTrue(
    () => lower.lt(upper),
    () => {
      const middle = lower.add(upper).shr(1); // both are below 2^31
      when(candidate.at(middle).lt(limit), () => lower.set(middle.add(1))).otherwise(() => upper.set(middle));
    },
  );
  return lower.get();
}
