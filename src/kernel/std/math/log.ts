import { type Expr, lit } from '../../language/expr.js';
import { fma, select } from '../../language/operations.js';
import type { Float, WideFloat } from '../../language/types.js';
import { type DoubleWord, exactProduct, exactSum, quotient } from './double-word.js';
import { constants as expConstants } from './exp.js';
import { floatFunction, formats, polynomial } from './format.js';

/** Returns the natural logarithm. It is −∞ for 0 and NaN for negative numbers. */
export function log<T extends Float>(x: Expr<T>): Expr<T> {
  return logFunction(x);
}

/** Returns the logarithm to base 2. It is −∞ for 0, NaN for negative numbers, and exact for powers of two. */
export function log2<T extends Float>(x: Expr<T>): Expr<T> {
  return log2Function(x);
}

/**
 * The logarithm of m as s · P(s²), s = (m − 1) / (m + 1), √½ ≤ m < √2. The first coefficients, lowest power first, are sums
 * of two floats.
 */
export interface Series {
  readonly coefficients: readonly number[];
  readonly low: readonly number[];
}

/** From scripts/math/coefficients.gp. They leave a relative error of 2^-66 in f64 and 2^-35 in f32. */
const natural: Readonly<Record<WideFloat, Series>> = {
  f64: {
    coefficients: [
      2, 0.6666666666666666, 0.40000000000004915, 0.28571428569414664, 0.2222222260642357, 0.18181778397326964,
      0.15386987123467427, 0.13252184552505528, 0.13234467093012844,
    ],
    low: [0],
  },
  f32: {
    coefficients: [2, 0.6666666269302368, 0.40000972151756287, 0.284987598657608, 0.24280233681201935],
    low: [0],
  },
};
const binary: Readonly<Record<WideFloat, Series>> = {
  f64: {
    coefficients: [
      2.8853900817779268, 0.9617966939259754, 0.5770780163557324, 0.4121985830613469, 0.32059890632050603,
      0.262307408388233, 0.22199578537453246, 0.19100721768177853, 0.19250842939882462,
    ],
    low: [4.073251507785197e-17],
  },
  f32: {
    coefficients: [2.885390043258667, 0.9617967009544373, 0.5770784020423889, 0.41195890307426453, 0.3358742892742157],
    low: [3.8531425161636434e-8],
  },
};

/** Differences of the bits of 1 and √½. */
const aboveSqrtHalf: Readonly<Record<WideFloat, bigint>> = {
  f64: 0x3ff0_0000_0000_0000n - 0x3fe6_a09e_667f_3bcdn,
  f32: 0x3f80_0000n - 0x3f35_04f3n,
};

const logFunction = floatFunction('log', (x) => {
  const { k, series } = logarithm(x, natural[x.type]);
  const [short, rest] = expConstants[x.type].shortLn2;
  const sum = exactSum(k.mul(short), series.hi);
  return withEdges(x, sum.hi.add(sum.lo.add(fma(k, rest, series.lo))));
});

const log2Function = floatFunction('log2', (x) => {
  const { k, series } = logarithm(x, binary[x.type]);
  const sum = exactSum(k, series.hi);
  return withEdges(x, sum.hi.add(sum.lo.add(series.lo)));
});

/** The logarithm of 2^k · m, where `series` is that of m. x is positive and finite. */
export function logarithm<T extends WideFloat>(x: Expr<T>, { coefficients, low }: Series) {
  const { bits, fraction, bias, one, minNormal } = formats[x.type];
  const isSmall = x.lt(minNormal);
  const all = select(isSmall, x.mul(2 ** (fraction + 2)), x).bits(bits);
  const exponent = all.add(aboveSqrtHalf[x.type]).shr(fraction);
  const k = exponent
    .to('i32')
    .sub(select(isSmall, lit('i32', bias + BigInt(fraction + 2)), bias))
    .to(x.type);
  const m = all.sub(exponent.shl(fraction)).add(one).bits(x.type);

  const s = quotient(m.sub(1), undefined, exactSum(lit(x.type, 1), m));
  const sum = sumOfPowers(s, coefficients, low);
  const product = exactProduct(s.hi, sum.hi);
  return { k, series: { hi: product.hi, lo: fma(s.hi, sum.lo, fma(s.lo, sum.hi, product.lo)) } };
}

/** c₀ + c₁s² + c₂s⁴ + … The innermost sum of two floats needs its inner part to one float only, since s² is below 0.03. */
function sumOfPowers<T extends WideFloat>(
  s: DoubleWord<T>,
  coefficients: readonly number[],
  low: readonly number[],
): DoubleWord<T> {
  const square = exactProduct(s.hi, s.hi);
  const squareLow = fma(s.hi.add(s.hi), s.lo, square.lo);
  const plus = (at: number, hi: Expr<T>, lo?: Expr<T>): DoubleWord<T> => {
    const sum = exactSum(lit(hi.type, coefficients[at] ?? 0), hi);
    const rest = lo ? sum.lo.add(lo) : sum.lo;
    return { hi: sum.hi, lo: low[at] ? rest.add(low[at]) : rest };
  };
  let at = low.length - 1;
  let sum = plus(at, square.hi.mul(polynomial(square.hi, coefficients.slice(low.length))));
  while (at-- > 0) {
    const product = exactProduct(square.hi, sum.hi);
    sum = plus(at, product.hi, fma(square.hi, sum.lo, fma(squareLow, sum.hi, product.lo)));
  }
  return sum;
}

/** The results for arguments that have no finite logarithm. */
function withEdges<T extends WideFloat>(x: Expr<T>, value: Expr<T>): Expr<T> {
  const finite = select(x.lt(Number.POSITIVE_INFINITY), value, x);
  return select(x.gt(0), finite, select(x.eq(0), Number.NEGATIVE_INFINITY, lit(x.type, Number.NaN)));
}
