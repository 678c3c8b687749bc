import { type Expr, type ExprLike, lit } from '../../language/expr.js';
import { fma, select } from '../../language/operations.js';
import type { Float, WideFloat } from '../../language/types.js';
import { exactSum, quotient } from './double-word.js';
import { floatFunction, formats, polynomial, splitSign } from './format.js';

/**
 * Returns the angle of the point (x, y), from −π to π, with the special values of C99 (Annex F): the sign is that of y, and
 * zeros and infinities of either sign have the angles of their quadrants.
 */
export function atan2<T extends Float>(y: Expr<T>, x: ExprLike<NoInfer<T>>): Expr<T> {
  return atan2Function(y, x);
}

interface Constants {
  /** If the quotient is at most this, it is its own arc tangent. */
  readonly tiny: number;
  /** Larger and smaller divisors are scaled, so that sums do not overflow and lost parts do not underflow. */
  readonly large: number;
  readonly small: number;
  readonly down: number;
  readonly up: number;
  /** π/4 in two parts; the first times 3 is exact. */
  readonly quarterPi: readonly [number, number];
  /** atan t = t + t³·A(t²), |t| ≤ tan π/8, lowest power first. */
  readonly coefficients: readonly number[];
}

/** From scripts/math/coefficients.gp. The polynomials leave a relative error of 2^-63.8 in f64 and 2^-33.9 in f32. */
const constants: Readonly<Record<WideFloat, Constants>> = {
  f64: {
    tiny: 2 ** -30,
    large: 2 ** 500,
    small: 2 ** -500,
    down: 2 ** -600,
    up: 2 ** 600,
    quarterPi: [0.7853981633974483, 3.061616997868383e-17],
    coefficients: [
      -0.33333333333333326, 0.19999999999997098, -0.14285714285317128, 0.11111111083811316, -0.09090907988808362,
      0.07692279277645986, -0.06666175922532444, 0.058765293580417946, -0.0521526746212125, 0.04490922531173369,
      -0.033183356594000166, 0.014902299658202195,
    ],
  },
  f32: {
    tiny: 2 ** -15,
    large: 2 ** 60,
    small: 2 ** -40,
    down: 2 ** -70,
    up: 2 ** 80,
    quarterPi: [0.785398006439209, 1.5695823663008923e-7],
    coefficients: [
      -0.3333333134651184, 0.19999802112579346, -0.14279131591320038, 0.11009581387042999, -0.08283130824565887,
      0.043510034680366516,
    ],
  },
};
const tanPiOver8 = Math.SQRT2 - 1;

/**
 * The angle is m · π/4 ± t: t = atan(a/b) with a ≤ b, the smaller and the larger of |x| and |y|, or
 * t = atan((b − a) / (b + a)) if a/b is above tan π/8.
 */
const atan2Function = floatFunction('atan2', (y, x) => {
  const { bits } = formats[y.type];
  const { quarterPi, tiny, coefficients } = constants[y.type];
  const { sign, size } = splitSign(y);
  const { sign: xSign, size: xSize } = splitSign(x);
  const isSteep = size.gt(xSize);
  const { a, b } = finitePair(select(isSteep, xSize, size), select(isSteep, size, xSize));

  const { a: c, b: d } = scaledPair(a, b);
  const isNearDiagonal = c.gt(d.mul(tanPiOver8));
  const difference = exactSum(d, c.neg());
  const sum = exactSum(d, c);
  const ratio = quotient(select(isNearDiagonal, difference.hi, c), select(isNearDiagonal, difference.lo, 0), {
    hi: select(isNearDiagonal, sum.hi, d),
    lo: select(isNearDiagonal, sum.lo, 0),
  });
  const isTiny = a.le(b.mul(tiny));
  const t = select(isTiny, a.div(b), ratio.hi);
  const square = t.mul(t);
  const low = select(isTiny, 0, ratio.lo);
  const tail = fma(t.mul(square), polynomial(square, coefficients), fma(square.neg(), low, low));

  const isLeft = xSign.ne(0);
  const ofOctant = select(isNearDiagonal, 1, lit(y.type, 0));
  const ofQuadrant = select(isSteep, lit(y.type, 2).sub(ofOctant), ofOctant);
  const m = select(isLeft, lit(y.type, 4).sub(ofQuadrant), ofQuadrant);
  const direction = select(isNearDiagonal.xor(isSteep).xor(isLeft), -1, lit(y.type, 1));
  const head = exactSum(m.mul(quarterPi[0]), t.mul(direction));
  const angle = head.hi.add(head.lo.add(fma(m, quarterPi[1], tail.mul(direction))));

  const isNumber = size.le(Number.POSITIVE_INFINITY).and(xSize.le(Number.POSITIVE_INFINITY));
  return select(isNumber, angle.bits(bits).xor(sign).bits(y.type), Number.NaN);
});

/** a and b ≥ a with the same angle, finite and not both 0. */
function finitePair<T extends WideFloat>(a: Expr<T>, b: Expr<T>) {
  const isInfinite = b.eq(Number.POSITIVE_INFINITY);
  const one = lit(a.type, 1);
  const atInfinity = select(a.eq(Number.POSITIVE_INFINITY), one, 0);
  return { a: select(isInfinite, atInfinity, a), b: select(isInfinite.or(b.eq(0)), one, b) };
}

/** a and b times a power of two. a loses bits only if a/b is tiny. */
function scaledPair<T extends WideFloat>(a: Expr<T>, b: Expr<T>) {
  const { large, small, down, up } = constants[a.type];
  const one = lit(a.type, 1);
  const scale = select(b.gt(large), down, select(b.lt(small), up, one));
  return { a: a.mul(scale), b: b.mul(scale) };
}
