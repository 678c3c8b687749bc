import {
  addChain,
  atomic,
  cell,
  type Expr,
  items,
  lit,
  min,
  montgomery,
  read,
  type Unsigned,
  when,
  whileTrue,
} from '../../../kernel/index.js';
import { TallyIndex } from './sieve-kernels.js';

/** Numbers of at most `bits` bits, in the limbs of the target: u32 on GPUs and wasm, u64 in C. */
export interface NumberShape {
  readonly limb: Unsigned;
  readonly bits: number;
}

export const limbsOf = ({ limb, bits }: NumberShape): number => Math.ceil(bits / (limb === 'u32' ? 32 : 64));

/** Fermat's test to base 2 of each candidate: 1 if it passes. For tests and measurements; a search tests few candidates. */
export const fermat = <L extends Unsigned>(shape: { readonly limb: L; readonly bits: number }) =>
  items(
    'gaps-fermat',
    {
      chunk: { base: [shape.limb, limbsOf(shape)] as [L, number] },
      buffers: { candidate: read('u32'), prime: { kind: 'rw', type: 'u32' } },
    },
    ({ item, chunk, buffers }) => {
      const passes = primalityTest(shape, chunk.base as unknown as readonly Expr<L>[]);
      buffers.prime.set(item, passes(buffers.candidate.at(item)).to('u32'));
    },
  );

/**
 * Chains of candidates. A chain owns `perChain` candidates of the ascending list and finds the primes among them that are
 * followed by a gap of at least 2·half. From a prime it tests the last candidate that would make the gap too short, then
 * downwards. It continues from the first prime that it meets, and the candidates below that are skipped. If it meets none,
 * the gap is long enough. It reads past its end as far as the last of its primes needs, so that no gap is lost between two
 * chains.
 *
 * An item begins with the chain of its number and then takes further ones, so that no thread of a GPU waits for another's
 * longer chain; every iteration of the loop is one test.
 */
export const chains = <L extends Unsigned>(shape: { readonly limb: L; readonly bits: number }) =>
  items(
    'gaps-chains',
    {
      // `owned`: the piece's places; candidates after them only end gaps.
      chunk: {
        base: [shape.limb, limbsOf(shape)] as [L, number],
        half: 'u32',
        owned: 'u32',
        perChain: 'u32',
        room: 'u32',
      },
      buffers: { candidate: read('u32'), tally: atomic() },
      hit: { place: 'u32' },
    },
    ({ item, chunk, buffers: { candidate, tally }, emit }) => {
      const { half, owned, perChain, room } = chunk as unknown as Readonly<Record<ScalarField, Expr<'u32'>>>;
      const passes = primalityTest(shape, chunk.base as unknown as readonly Expr<L>[]);
      const total = min(tally.load(TallyIndex.candidates), room);
      const all = tally.load(TallyIndex.chains);
      const threads = tally.load(TallyIndex.threads);
      /** The index of the next candidate to test, and the end of the chain's own candidates. */
      const [at, end] = [cell('u32', 0), cell('u32', 0)];
      /** The index of the prime that the downward search ends at, its place, and the index that the search began with. */
      const [from, origin, top] = [cell('u32', 0), cell('u32', 0), cell('u32', 0)];
      const isDown = cell('bool', lit('bool', false));
      const isBusy = cell('bool', lit('bool', false));
      const [tests, primes] = [cell('u32', 0), cell('u32', 0)];

      const begin = (chain: Expr<'u32'>): void => {
        isBusy.set(lit('bool', false));
        isDown.set(lit('bool', false));
        when(chain.lt(all), () => {
          const first = chain.mul(perChain);
          at.set(first);
          end.set(min(first.add(perChain), total));
          isBusy.set(candidate.at(first).lt(owned));
        });
      };
      const takeNext = (): void => begin(threads.add(tally.add(TallyIndex.taken, 1)));
      /** Searches for the next prime upwards, unless the chain is at its end. */
      const goUp = (index: Expr<'u32'>): void => {
        isDown.set(lit('bool', false));
        at.set(index);
        const isOver = cell('bool', index.ge(end));
        when(isOver.get().not(), () => isOver.set(candidate.at(index).ge(owned)));
        when(isOver.get(), takeNext);
      };
      /** Emits a gap: no candidate between `from` and `top` is prime. */
      const emitGap = (): void => {
        emit({ place: origin });
        goUp(top.get().add(1));
      };
      /** Starts from the prime at `index`: searches down from the last candidate less than `half` places after it. */
      const goDown = (index: Expr<'u32'>, where: Expr<'u32'>): void => {
        from.set(index);
        origin.set(where);
        const last = lastBelow(candidate, index, min(index.add(half), total), where.add(half));
        top.set(last);
        at.set(last);
        isDown.set(lit('bool', true));
        when(last.eq(index), emitGap);
      };

      begin(item);
      whileTrue(
        () => isBusy.get(),
        () => {
          const index = at.get();
          const where = candidate.at(index);
          const isPrime = cell('bool', passes(where));
          tests.set(tests.add(1));
          when(isPrime.get(), () => {
            primes.set(primes.add(1));
            when(index.ge(end).or(where.ge(owned)), takeNext).otherwise(() => goDown(index, where));
          }).otherwise(() => {
            when(isDown.get(), () => {
              at.set(index.sub(1));
              when(index.sub(1).eq(from), emitGap);
            }).otherwise(() => goUp(index.add(1)));
          });
        },
        { isLong: true }, // a GPU's thread runs hundreds of chains, a millisecond a test
      );
      tally.add(TallyIndex.tests, tests);
      tally.add(TallyIndex.primes, primes);
    },
  );

/** The chunk's scalar fields, whose types are lost because the limb type is a parameter. */
type ScalarField = 'half' | 'owned' | 'perChain' | 'room';

/** The largest index in [low, high) whose place is below `limit`; that of `low` is always below. */
function lastBelow(
  candidate: { at(index: Expr<'u32'>): Expr<'u32'> },
  low: Expr<'u32'>,
  high: Expr<'u32'>,
  limit: Expr<'u32'>,
): Expr<'u32'> {
  const [lower, upper] = [cell('u32', low), cell('u32', high)];
  whileTrue(
    () => upper.sub(lower).gt(1),
    () => {
      const middle = lower.add(upper).shr(1); // both are below 2^31
      when(candidate.at(middle).lt(limit), () => lower.set(middle)).otherwise(() => upper.set(middle));
    },
  );
  return lower.get();
}

/** Returns the test of the number at a place: base + 2·place + 1. */
export function primalityTest<L extends Unsigned>(
  { limb, bits }: { readonly limb: L; readonly bits: number },
  base: readonly Expr<L>[],
): (place: Expr<'u32'>) => Expr<'bool'> {
  const arithmetic = montgomery(limb, bits);
  return (place) => arithmetic.isProbablePrime(numberAt(limb, base, place));
}

/** base + 2·place + 1. */
export function numberAt<L extends Unsigned>(limb: L, base: readonly Expr<L>[], place: Expr<'u32'>): Expr<L>[] {
  const added = place.shl(1).add(1).to(limb);
  return addChain(
    base,
    base.map((_, i) => (i === 0 ? added : 0)),
  ).limbs;
}
