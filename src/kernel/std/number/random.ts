import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { mulHi } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import type { WideFloat } from '../../language/types.js';

type Word = Expr<'u32'>;

/** Random numbers by counter: the same counter and key give the same numbers on every device, in any order. */
export const random = {
  /**
   * Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four random words for each counter
   * of four words and key of two. `random.philox4x32([index.lo, index.hi, 0, 0], [seed, 0])`.
   */
  philox4x32(
    counter: readonly [ExprLike<'u32'>, ExprLike<'u32'>, ExprLike<'u32'>, ExprLike<'u32'>],
    key: readonly [ExprLike<'u32'>, ExprLike<'u32'>],
  ): [Word, Word, Word, Word] {
    return philox(...[...counter, ...key].map((word) => operand('u32', word))) as [Word, Word, Word, Word];
  },

  /**
   * Returns a float in [0, 1): the upper 24 bits of `word` in f32. In f64 the 32 bits of `word`, followed by the upper 21 bits
   * of `more` if it is given. Every value is a multiple of 2^-24, 2^-32 or 2^-53, and all are equally likely.
   */
  uniform<T extends WideFloat>(type: T, word: Word, more?: Word): Expr<T> {
    const first = operand('u32', word);
    if (type === 'f32')
      return first
        .shr(8)
        .to(type)
        .mul(2 ** -24);
    const high = first.to(type).mul(2 ** -32);
    return more !== undefined
      ? operand('u32', more)
          .shr(11)
          .to(type)
          .mul(2 ** -53)
          .add(high)
      : high;
  },
};

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57] as const;
/** Added to the key after each round: the golden ratio and √3 − 1. */
const KEY_STEPS = [0x9e3779b9, 0xbb67ae85] as const;
const ROUNDS = 10;

const philox = std({
  name: 'philox4x32',
  results: () => ['u32', 'u32', 'u32', 'u32'],
  generic: (...words) => {
    const [c0, c1, c2, c3, k0, k1] = words as [Word, Word, Word, Word, Word, Word];
    let [a, b, c, d] = [c0, c1, c2, c3];
    for (let round = 0; round < ROUNDS; round++) {
      const key = [k0.add(Math.imul(round, KEY_STEPS[0])), k1.add(Math.imul(round, KEY_STEPS[1]))] as const;
      [a, b, c, d] = [
        mulHi(c, MULTIPLIERS[1]).xor(b).xor(key[0]),
        c.mul(MULTIPLIERS[1]),
        mulHi(a, MULTIPLIERS[0]).xor(d).xor(key[1]),
        a.mul(MULTIPLIERS[0]),
      ];
    }
    return [a, b, c, d];
  },
});
