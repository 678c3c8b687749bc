import { ValueStage } from '../../ir/program.js';
import { type Expr, type Lowering, lit } from '../expr.js';
import { min, select } from '../operations.js';
import type { Scalar } from '../types.js';

/**
 * i64 is a u64 in two's complement. nvcc makes signed instructions of comparisons, min, max, abs and shifts by a constant;
 * GCC 12 leaves the two xor of a comparison.
 */
export const i64Lowering: Lowering = {
  same: new Set([
    ...(['add', 'sub', 'mul', 'neg', 'and', 'or', 'xor', 'not', 'shl', 'rotl', 'rotr'] as const),
    ...(['eq', 'ne', 'select', 'popcount', 'clz', 'ctz'] as const),
  ]),
  operations: {
    div: (a, b) => divide(wide(a), wide(b)),
    rem: (a, b) => remainder(wide(a), wide(b)),
    abs: (a) => magnitude(wide(a)),
    shr: (a, count) => shiftRight(wide(a), count as Expr<'u32'>),
    lt: (a, b) => ordered(wide(a)).lt(ordered(wide(b))),
    le: (a, b) => ordered(wide(a)).le(ordered(wide(b))),
  },
  from(value) {
    if (value.type !== 'f32' && value.type !== 'f64') return value.to('u64'); // i32 extends its sign
    const float = value as Expr<'f32'> | Expr<'f64'>;
    const size = float.abs().to('u64'); // a NaN is 0
    const isNegative = (float as Expr<'f32'>).lt(0);
    return select(isNegative, min(size, SIGN).neg(), min(size, SIGN - 1n));
  },
  to(value, type) {
    if (type !== 'f32' && type !== 'f64') return value.to(type);
    // Rounding to the nearest does not depend on the sign.
    const size = magnitude(wide(value)).to(type) as Expr<'f32'>;
    return select(isBelowZero(wide(value)), size.neg(), size);
  },
};

const SIGN = 1n << 63n;

const wide = (value: Expr<Scalar>): Expr<'u64'> => value as unknown as Expr<'u64'>;

/** Maps the smallest i64 to 0, the next to 1, and so on. */
const ordered = (x: Expr<'u64'>): Expr<'u64'> => x.xor(SIGN);

const isBelowZero = (x: Expr<'u64'>): Expr<'bool'> => x.ge(SIGN);

/** All ones if x is below zero, else 0. */
const signMask = (x: Expr<'u64'>): Expr<'u64'> => x.shr(63).neg();

/** Returns |x|; of the smallest i64 itself, which as a u64 is its magnitude. */
const magnitude = (x: Expr<'u64'>): Expr<'u64'> => withSign(x, signMask(x));

/** Returns −x where the mask is all ones, and x where it is 0. */
const withSign = (x: Expr<'u64'>, mask: Expr<'u64'>): Expr<'u64'> => x.xor(mask).sub(mask);

/** The rules for the divisor 0 are those of the magnitudes. The smallest i64 / −1 is its magnitude, which wraps. */
const divide = (a: Expr<'u64'>, b: Expr<'u64'>): Expr<'u64'> =>
  withSign(magnitude(a).div(magnitude(b)), signMask(a.xor(b)));

const remainder = (a: Expr<'u64'>, b: Expr<'u64'>): Expr<'u64'> =>
  withSign(magnitude(a).rem(magnitude(b)), signMask(a));

function shiftRight(x: Expr<'u64'>, count: Expr<'u32'>): Expr<'u64'> {
  const { stage, detail } = count.node;
  if (stage === ValueStage.constant && detail.value !== undefined) {
    const place = lit('u64', SIGN).shr(count); // of the sign, after the shift
    return x.shr(count).xor(place).sub(place);
  }
  const mask = signMask(x);
  return x.xor(mask).shr(count).xor(mask);
}
