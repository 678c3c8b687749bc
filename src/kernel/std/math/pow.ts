import { type Expr, type ExprLike, lit } from '../../language/expr.js';
import { fma, max, min, select } from '../../language/operations.js';
import type { Float, WideFloat } from '../../language/types.js';
import { exactProduct, exactSum } from './double-word.js';
import { constants as expConstants, expOf, reduceToInteger } from './exp.js';
import { floatFunction, formats, splitSign } from './format.js';
import { logarithm, type Series } from './log.js';

/**
 * Returns x^y, with the special values of C99 (Annex F). x^0 and 1^y are 1, even for NaN. A negative x has a power only if
 * y is an integer; other finite y give NaN.
 */
export function pow<T extends Float>(x: Expr<T>, y: ExprLike<NoInfer<T>>): Expr<T> {
  return powFunction(x, y);
}

interface Constants extends Series {
  /** A larger |y| gives the same result as this one: x^y is 0, 1 or infinite. */
  readonly maxExponent: number;
}

/**
 * log₂ m, from scripts/math/coefficients.gp. y · log₂ x is as large as 1,075, so its relative error must be that much
 * smaller than that of the result: 2^-70 in f64, 2^-35 in f32.
 */
const constants: Readonly<Record<WideFloat, Constants>> = {
  f64: {
    maxExponent: 2 ** 70,
    coefficients: [
      2.8853900817779268, 0.9617966939259756, 0.5770780163555842, 0.4121985831116198, 0.320598897868037,
      0.26230820280529343, 0.2219520425314825, 0.19240866943722157, 0.16832298955324002, 0.1737585737928592,
    ],
    low: [4.0710399012883024e-17, 5.158216442522908e-17, 3.915627703481938e-17],
  },
  f32: {
    maxExponent: 2 ** 40,
    coefficients: [
      2.885390043258667, 0.9617967009544373, 0.5770779252052307, 0.41221213340759277, 0.31975647807121277,
      0.2853316366672516,
    ],
    low: [3.851918251029929e-8, -6.840748412173525e-9],
  },
};

const powFunction = floatFunction('pow', (x, y) => {
  const { limits2, ln2 } = expConstants[x.type];
  const { maxExponent } = constants[x.type];
  const { sign, size } = splitSign(x);

  const { hi, lo } = log2Of(size);
  const exponent = min(max(y, -maxExponent), maxExponent);
  const power = exactProduct(exponent, hi);
  const powerLow = fma(exponent, lo, power.lo);

  const { shifted, rest } = reduceToInteger(power.hi);
  const product = exactProduct(rest, lit(x.type, ln2[0]));
  const r = exactSum(product.hi, fma(rest, ln2[1], fma(powerLow, ln2[0], product.lo)));
  const value = expOf(r.hi, r.lo, shifted);
  const finite = select(power.hi.gt(limits2[1]), Number.POSITIVE_INFINITY, value);
  const positive = select(power.hi.lt(limits2[0]), 0, finite);

  const { isInteger, isOdd } = parity(y);
  const { bits } = formats[x.type];
  const signed = select(isOdd, positive.bits(bits).xor(sign), positive.bits(bits)).bits(x.type);
  const isUndefined = isInteger.not().and(x.lt(0)).and(x.gt(Number.NEGATIVE_INFINITY));
  const result = select(isUndefined, Number.NaN, signed);
  return select(x.eq(1).or(y.eq(0)), 1, result);
});

/** log₂ x as a double word for x ≥ 0; −∞ and ∞ for 0 and ∞, NaN for NaN. */
function log2Of<T extends WideFloat>(x: Expr<T>) {
  const { k, series } = logarithm(x, constants[x.type]);
  const sum = exactSum(k, series.hi);
  const finite = select(x.eq(0), Number.NEGATIVE_INFINITY, sum.hi);
  return { hi: select(x.lt(Number.POSITIVE_INFINITY), finite, x), lo: sum.lo.add(series.lo) };
}

/** Floats from 2^fraction on are integers, those from 2^(fraction + 1) on even ones. */
function parity<T extends WideFloat>(y: Expr<T>) {
  const { bits, fraction } = formats[y.type];
  const { size } = splitSign(y);
  const whole = size.to(bits);
  const isInteger = size.ge(2 ** fraction).or(whole.to(y.type).eq(size));
  const isOdd = isInteger.and(size.lt(2 ** (fraction + 1))).and(whole.and(1).ne(0));
  return { isInteger, isOdd };
}
