import {
  addChain,
  atomic,
  cell,
  type Expr,
  items,
  lit,
  montgomery,
  read,
  rw,
  select,
  tiles,
  type Unsigned,
  when,
  whileTrue,
  wmad,
} from '../../../kernel/index.js';
import { limbsOf } from './chain-kernel.js';
import { bitsPastEnd, TallyIndex } from './sieve-kernels.js';

/**
 * Intervals that repeat with a primorial. Place i of interval k is base + k·step + 2i + 1, where base and step are even.
 * The multiples of the primorial's primes are the same in all intervals: the mask.
 */

/** Sieves one interval with the primes after the primorial's. They are below 2^16, so that products fit a word. */
export const intervalSieve = (words: number) =>
  tiles(
    'gaps-interval-sieve',
    {
      // `bits`: places of an interval.
      chunk: { bits: 'u32', primes: 'u32' },
      buffers: {
        prime: read('u32'),
        /** For each prime: the place of its first multiple in interval 0, and half of the step modulo the prime. */
        start: read('u32'),
        step: read('u32'),
        mask: read('u32'),
        map: rw('u32'),
      },
      lanes: 1,
    },
    ({ tile, chunk, near, each, buffers }) => {
      const bits = near('u32', words);
      each(words, (w) => bits.set(w, buffers.mask.at(w)));
      each(chunk.primes, (k) => {
        const p = buffers.prime.at(k);
        const first = buffers.start.at(k);
        const moved = tile.rem(p).mul(buffers.step.at(k)).rem(p);
        const at = cell('u32', select(first.ge(moved), first.sub(moved), first.add(p).sub(moved)));
        whileTrue(
          () => at.lt(chunk.bits),
          () => {
            bits.or(at.shr(5), lit('u32', 1).shl(at.and(31)));
            at.set(at.add(p));
          },
        );
      });
      each(words, (w) => buffers.map.set(tile.mul(words).add(w), bits.at(w).or(bitsPastEnd(chunk.bits, w))));
    },
  );

/** Tests the candidates of an interval, ascending, up to the first prime. An interval without one is a hit. */
export const intervalTests = <L extends Unsigned>(shape: { readonly limb: L; readonly bits: number }, words: number) =>
  items(
    'gaps-interval-tests',
    {
      chunk: {
        base: [shape.limb, limbsOf(shape)] as [L, number],
        step: [shape.limb, limbsOf(shape)] as [L, number],
      },
      buffers: { map: read('u32'), tally: atomic() },
      hit: { interval: 'u32' },
    },
    ({ item, chunk, buffers: { map, tally }, emit }) => {
      const given = chunk as unknown as Readonly<Record<'base' | 'step', readonly Expr<L>[]>>;
      const base = multiplyAdd(given.step, item.to(shape.limb), given.base);
      const arithmetic = montgomery(shape.limb, shape.bits);
      const first = item.mul(words);
      const [word, rest] = [cell('u32', 0), cell('u32', map.at(first).not())];
      const isOpen = cell('bool', lit('bool', true));
      const [tests, primes] = [cell('u32', 0), cell('u32', 0)];
      whileTrue(
        () => isOpen.get(),
        () => {
          whileTrue(
            () => rest.eq(0).and(word.lt(words - 1)),
            () => {
              word.set(word.add(1));
              rest.set(map.at(first.add(word)).not());
            },
          );
          when(rest.eq(0), () => {
            emit({ interval: item });
            isOpen.set(lit('bool', false));
          }).otherwise(() => {
            const lowest = rest.get().and(rest.get().neg());
            const place = word.shl(5).add(lit('u32', 31).sub(lowest.clz()));
            rest.set(rest.get().xor(lowest));
            const offset = place.shl(1).add(1).to(shape.limb);
            const n = addChain(
              base,
              base.map((_, i) => (i === 0 ? offset : 0)),
            ).limbs;
            tests.set(tests.add(1));
            when(arithmetic.isProbablePrime(n), () => {
              primes.set(primes.add(1));
              isOpen.set(lit('bool', false));
            });
          });
        },
      );
      tally.add(TallyIndex.tests, tests);
      tally.add(TallyIndex.primes, primes);
    },
  );

/** a·b + c, where a and c are numbers of several limbs and b is one limb. */
function multiplyAdd<L extends Unsigned>(a: readonly Expr<L>[], b: Expr<L>, c: readonly Expr<L>[]): Expr<L>[] {
  let carry: Expr<L> | undefined;
  return a.map((limb, i) => {
    const { lo, hi } = wmad(limb, b, c[i] ?? 0, carry ?? 0);
    carry = hi;
    return lo;
  });
}
