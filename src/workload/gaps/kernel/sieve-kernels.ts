import {
  atomic,
  cell,
  type Expr,
  items,
  lit,
  loop,
  max,
  min,
  mulHi,
  read,
  rw,
  select,
  tiles,
  whileTrue,
} from '../../../kernel/index.js';

/**
 * The sieve on a device. It works on odd numbers only: place i of a piece is base + 2i + 1, where base is even. A bit is
 * set if one of the primes divides. The host sends only the base of each piece: remainders are computed and updated on the
 * device.
 */

/** Bits of one tile, which a workgroup sieves in workgroup memory. */
export interface TileShape {
  readonly tileBits: number;
}

/** Primes sieved by masks, a word at a time: each has a multiple in every word. */
export const MASK_PRIMES = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31] as const;

/** The place of each prime's first multiple in a piece. `base` is the even number that the piece begins at. */
export const place = (limbs: number) =>
  items(
    'gaps-place',
    { chunk: { base: ['u32', limbs] }, buffers: { prime: read('u32'), start: rw('u32') } },
    ({ item, chunk, buffers }) => {
      const p = buffers.prime.at(item);
      const rest = remainder(chunk.base as readonly Expr<'u32'>[], p);
      // base + 2i + 1 = 0 modulo p: 2i + 1 is −base, plus p if that is even.
      const odd = p.sub(rest);
      buffers.start.set(item, select(odd.and(1).eq(0), odd.add(p), odd).shr(1));
    },
  );

/**
 * A number of several words, the least significant first, modulo an odd p below 2^31: by Montgomery's reductions, a word at
 * a time. Bit by bit it would take five times as long, and divisions of 64 by 32 bits are slower still on a CPU, which has
 * no vector form of them.
 */
function remainder(words: readonly Expr<'u32'>[], p: Expr<'u32'>): Expr<'u32'> {
  // 1/p modulo 2^32 by Newton's steps: 5, 10, 20, 40 bits.
  let inverse = p.mul(3).xor(2);
  for (let bits = 5; bits < 32; bits *= 2) inverse = inverse.mul(lit('u32', 2).sub(p.mul(inverse)));
  const negated = inverse.neg();
  /** low / 2^32 modulo p, at most p. */
  const reduce = (low: Expr<'u32'>): Expr<'u32'> => mulHi(low.mul(negated), p).add(low.ne(0).to('u32'));
  const below = (x: Expr<'u32'>): Expr<'u32'> => min(x, x.sub(p)); // x is below 2p
  /** a·b / 2^32 modulo p, where one factor is below p and the other at most p + 1. */
  const multiply = (a: Expr<'u32'>, b: Expr<'u32'>): Expr<'u32'> => below(mulHi(a, b).add(reduce(a.mul(b))));
  /** The number / 2^(32·words), at most p + 1. */
  const quotient = words.reduce(
    (sum, word) => {
      const low = sum.add(word);
      return reduce(low).add(low.lt(word).to('u32'));
    },
    lit('u32', 0),
  );
  // 2^64 modulo p, by doublings and squarings, stands for 2^32; its powers for what the quotient is multiplied by.
  let radix = p.neg().rem(p);
  for (let exponent = 32; exponent < 36; exponent++) radix = below(radix.add(radix));
  for (let exponent = 36; exponent < 64; exponent = 2 * exponent - 32) radix = multiply(radix, radix);
  const digits = [...words.length.toString(2)].slice(1);
  const power = digits.reduce((x, digit) => {
    const squared = multiply(x, x);
    return digit === '1' ? multiply(squared, radix) : squared;
  }, radix);
  return multiply(quotient, power);
}

/** Sieves with the primes larger than a tile: one item each, over a whole window. Updates `start` for the next window. */
export const far = items(
  'gaps-far',
  { chunk: { first: 'u32', bits: 'u32' }, buffers: { prime: read('u32'), start: rw('u32'), map: atomic() }, lanes: 1 },
  ({ item, chunk, buffers }) => {
    const k = item.add(chunk.first);
    const p = buffers.prime.at(k);
    const at = cell('u32', buffers.start.at(k));
    whileTrue(
      () => at.lt(chunk.bits),
      () => {
        buffers.map.or(at.shr(5), lit('u32', 1).shl(at.and(31)));
        at.set(at.add(p));
      },
    );
    buffers.start.set(k, at.sub(chunk.bits));
  },
);

/**
 * Sieves one tile of a window: masks for the smallest primes, strokes for the others below the tile's size, and the marks
 * of `far`. A stroke is a prime and an offset in its multiples; all are about equally long, so that threads end together.
 * Counts the candidates that are left.
 */
export const sieve = ({ tileBits }: TileShape) =>
  tiles(
    'gaps-sieve',
    {
      // `from`: the window's first place in the piece; `bits`: of the window; places after them are not candidates.
      chunk: { from: 'u32', bits: 'u32', strokes: 'u32' },
      buffers: {
        prime: read('u32'),
        start: read('u32'),
        stroke: read('u32'),
        map: rw('u32'),
        counts: rw('u32'),
      },
      lanes: 1,
    },
    ({ tile, chunk, near, each, sum, once, buffers }) => {
      const words = tileBits / 32;
      const bits = near('u32', words);
      const inWindow = tile.mul(tileBits);
      const from = chunk.from.add(inWindow);
      const masked = MASK_PRIMES.map((p, k) => ({
        p,
        first: firstMultipleFrom(from, buffers.start.at(k), lit('u32', p)),
      }));
      each(words, (w) => {
        const mask = masked.reduce(
          (all, { p, first }) => {
            const passed = w.shl(5).rem(p);
            const shift = select(first.ge(passed), first.sub(passed), first.add(p).sub(passed));
            return all.or(lit('u32', everyNthBit(p)).shl(shift));
          },
          lit('u32', 0),
        );
        bits.set(w, mask);
      });
      each(chunk.strokes, (stroke) => {
        const k = buffers.stroke.at(stroke.shl(1));
        const begin = buffers.stroke.at(stroke.shl(1).add(1));
        const p = buffers.prime.at(k);
        const at = cell('u32', firstMultipleFrom(from, buffers.start.at(k), p).add(begin));
        const end = min(at.get().add(p.mul(MAX_STROKE)), tileBits);
        whileTrue(
          () => at.lt(end),
          () => {
            bits.or(at.shr(5), lit('u32', 1).shl(at.and(31)));
            at.set(at.add(p));
          },
        );
      });
      each(words, (w) => {
        const at = inWindow.shr(5).add(w);
        const word = bits.at(w).or(buffers.map.at(at)).or(bitsPastEnd(chunk.bits, at));
        buffers.map.set(at, word);
        bits.set(w, word);
      });
      const left = sum('u32', words, (w) => bits.at(w).not().popcount());
      once(() => buffers.counts.set(tile, left));
    },
  );

/** The numbers that the bits of a host's bitmap stand for: `odd` ones only, or `all` integers. */
export type BitmapLayout = 'odd' | 'all';

/**
 * Takes the host's bitmaps of all windows of a piece at once. Each window begins with a new tile, `tiles` after the start of
 * the one before. Writes the bits of odd numbers to `map`, and counts those that are 0.
 */
export const count = ({ tileBits }: TileShape, layout: BitmapLayout) =>
  tiles(
    'gaps-count',
    {
      // `bits`: of each window except the last, which has `lastBits`.
      chunk: { tiles: 'u32', windows: 'u32', bits: 'u32', lastBits: 'u32' },
      buffers: { given: read('u32'), map: rw('u32'), counts: rw('u32') },
    },
    ({ tile, chunk, near, each, sum, once, buffers }) => {
      const words = tileBits / 32;
      const bits = near('u32', words);
      const window = tile.div(chunk.tiles);
      const inWindow = tile.sub(window.mul(chunk.tiles)).mul(words);
      const own = select(window.add(1).eq(chunk.windows), chunk.lastBits, chunk.bits);
      each(words, (w) => {
        const at = tile.mul(words).add(w);
        const taken =
          layout === 'odd'
            ? buffers.given.at(at)
            : oddBits(buffers.given.at(at.shl(1))).or(oddBits(buffers.given.at(at.shl(1).add(1))).shl(16));
        const word = taken.or(bitsPastEnd(own, inWindow.add(w)));
        buffers.map.set(at, word);
        bits.set(w, word);
      });
      const left = sum('u32', words, (w) => bits.at(w).not().popcount());
      once(() => buffers.counts.set(tile, left));
    },
  );

/** Bits 1, 3, 5 … of a word as its lower 16 bits. */
function oddBits(word: Expr<'u32'>): Expr<'u32'> {
  const masks = [0x3333_3333, 0x0f0f_0f0f, 0x00ff_00ff, 0x0000_ffff];
  return masks.reduce((bits, mask, k) => bits.or(bits.shr(1 << k)).and(mask), word.shr(1).and(0x5555_5555));
}

/** The most multiples in one stroke. */
export const MAX_STROKE = 128;

/** Replaces the counts of a window's tiles, from tile `first` on, by each tile's start in the list; updates `tally`. */
export const rank = tiles(
  'gaps-rank',
  {
    chunk: { window: 'u32', first: 'u32', tiles: 'u32', perChain: 'u32', threads: 'u32', room: 'u32' },
    buffers: { counts: rw('u32'), tally: rw('u32') },
  },
  ({ chunk, near, each, scan, once, buffers }) => {
    const part = near('u32', RANK_BLOCK);
    const before = cell('u32', buffers.tally.at(TallyIndex.candidates));
    loop(chunk.tiles.add(RANK_BLOCK - 1).div(RANK_BLOCK), (block) => {
      const first = block.mul(RANK_BLOCK);
      each(RANK_BLOCK, (i) => {
        const at = first.add(i);
        const counted = buffers.counts.at(chunk.first.add(min(at, chunk.tiles.sub(1))));
        part.set(i, select(at.lt(chunk.tiles), counted, 0));
      });
      const total = scan(RANK_BLOCK, part);
      const start = before.get();
      each(min(chunk.tiles.sub(first), RANK_BLOCK), (i) =>
        buffers.counts.set(chunk.first.add(first).add(i), start.add(part.at(i))),
      );
      before.set(start.add(total));
    });
    const all = before.get();
    once(() => {
      buffers.tally.set(TallyIndex.candidates, all);
      buffers.tally.set(chunk.window.add(TallyIndex.windows), all);
      // The next launch has one item per chain, at most `threads`.
      const chains = min(all, chunk.room).add(chunk.perChain.sub(1)).div(chunk.perChain);
      buffers.tally.set(TallyIndex.chains, chains);
      buffers.tally.set(TallyIndex.threads, min(chains, chunk.threads));
    });
  },
);

/** Words of the buffer `tally`; from `windows` on, the number of candidates up to the end of each window. */
export const TallyIndex = { candidates: 0, chains: 1, threads: 2, taken: 3, tests: 4, primes: 5, windows: 8 } as const;
/** The most windows in a piece. */
export const MAX_DEPTH = 64;
export const TALLY_WORDS = TallyIndex.windows + MAX_DEPTH;
const RANK_BLOCK = 1024;

/**
 * Writes the places of the candidates, ascending, at the positions from `rank`: of one window, or of several that lie
 * `tiles` tiles and `places` places apart.
 */
export const list = ({ tileBits }: TileShape) =>
  tiles(
    'gaps-list',
    {
      chunk: { from: 'u32', tiles: 'u32', places: 'u32', room: 'u32' },
      buffers: { map: read('u32'), counts: read('u32'), candidate: rw('u32') },
      lanes: 1,
    },
    ({ tile, chunk, near, each, scan, buffers }) => {
      const groups = tileBits / 32 / GROUP;
      const counts = near('u32', groups);
      const first = tile.mul(tileBits / 32);
      const window = tile.div(chunk.tiles);
      const from = chunk.from.add(window.mul(chunk.places)).sub(window.mul(chunk.tiles).mul(tileBits));
      const wordsOf = (group: Expr<'u32'>) => buffers.map.at4(first.shr(2).add(group)).map((word) => word.not());
      each(groups, (group) => {
        const found = wordsOf(group).reduce((sum, word) => sum.add(word.popcount()), lit('u32', 0));
        counts.set(group, found);
      });
      scan(groups, counts);
      const begin = buffers.counts.at(tile);
      each(groups, (group) => {
        const to = cell('u32', begin.add(counts.at(group)));
        wordsOf(group).forEach((word, k) => {
          const rest = cell('u32', word);
          const origin = from.add(first.add(group.mul(GROUP)).add(k).shl(5));
          whileTrue(
            // Candidates that do not fit are still counted, which reveals the overflow.
            () => rest.ne(0).and(to.lt(chunk.room)),
            () => {
              const lowest = rest.get().and(rest.get().neg());
              buffers.candidate.set(to, origin.add(lit('u32', 31).sub(lowest.clz())));
              rest.set(rest.get().xor(lowest));
              to.set(to.add(1));
            },
          );
        });
      });
    },
  );
/** Words per item: a quad. */
const GROUP = 4;

/** The bits of a word that are after the window's last: they are not candidates. */
export function bitsPastEnd(bits: Expr<'u32'>, word: Expr<'u32'>): Expr<'u32'> {
  const left = bits.sub(min(bits, word.shl(5)));
  return select(left.lt(32), lit('u32', 0xffff_ffff).shl(left.and(31)), 0);
}

/** The first multiple of p at or after `from`, as an offset from there; `start` is a multiple. */
function firstMultipleFrom(from: Expr<'u32'>, start: Expr<'u32'>, p: Expr<'u32'>): Expr<'u32'> {
  const passed = max(from, start).sub(start).rem(p);
  const next = select(passed.eq(0), 0, p.sub(passed));
  return select(start.ge(from), start.sub(from), next);
}

/** Every p-th bit of a word, from the lowest on. */
function everyNthBit(p: number): number {
  let word = 0;
  for (let at = 0; at < 32; at += p) word |= 1 << at;
  return word >>> 0;
}
