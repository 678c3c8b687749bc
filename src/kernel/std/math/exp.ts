import { type Expr, lit } from '../../language/expr.js';
import { fma, max, min } from '../../language/operations.js';
import type { Float, WideFloat } from '../../language/types.js';
import { exactProduct, exactSum } from './double-word.js';
import { floatFunction, formats, polynomial } from './format.js';

/** Returns e^x. */
export function exp<T extends Float>(x: Expr<T>): Expr<T> {
  return expFunction(x);
}

/** Returns 2^x. It is exact for integers. */
export function exp2<T extends Float>(x: Expr<T>): Expr<T> {
  return exp2Function(x);
}

interface Constants {
  /** Below the first and above the second limit, e^x is 0 and infinite. */
  readonly limits: readonly [number, number];
  /** The same for 2^x. */
  readonly limits2: readonly [number, number];
  readonly log2e: number;
  /** ln 2 in two parts; the product of the first with the exponent of any float is exact. */
  readonly shortLn2: readonly [number, number];
  /** ln 2 in two parts of full precision. */
  readonly ln2: readonly [number, number];
  /** e^r = 1 + r + r²·Q(r), |r| ≤ ln 2 / 2, lowest power first. */
  readonly coefficients: readonly number[];
}

/** From scripts/math/coefficients.gp. The polynomials leave a relative error of 2^-63.8 in f64 and 2^-33.3 in f32. */
export const constants: Readonly<Record<WideFloat, Constants>> = {
  f64: {
    limits: [-750, 712],
    limits2: [-1080, 1025],
    log2e: Math.LOG2E,
    shortLn2: [0.6931471805598903, 5.497923018708371e-14],
    ln2: [Math.LN2, 2.3190468138462996e-17],
    coefficients: [
      0.5, 0.1666666666666668, 0.041666666666666415, 0.008333333333319268, 0.0013888888889032577,
      0.00019841269891837735, 2.4801587024980487e-5, 2.7557238733770468e-6, 2.755752785335927e-7, 2.5110856929915928e-8,
      2.0837697764013383e-9,
    ],
  },
  f32: {
    limits: [-106, 90],
    limits2: [-155, 129],
    log2e: 1.4426950216293335,
    shortLn2: [0.693145751953125, 1.428606765330187e-6],
    ln2: [0.6931471824645996, -1.9046542121259336e-9],
    coefficients: [
      0.5, 0.1666666567325592, 0.041666463017463684, 0.008333570323884487, 0.0013935078168287873,
      0.00019740246352739632,
    ],
  },
};

const expFunction = floatFunction('exp', (x) => {
  const [low, high] = constants[x.type].limits;
  const { r, rest, shifted } = reduceByLn2(min(max(x, low), high));
  return expOf(r, rest, shifted);
});

const exp2Function = floatFunction('exp2', (x) => {
  const { limits2, ln2 } = constants[x.type];
  const { rest, shifted } = reduceToInteger(min(max(x, limits2[0]), limits2[1]));
  const product = exactProduct(rest, lit(x.type, ln2[0]));
  return expOf(product.hi, fma(rest, ln2[1], product.lo), shifted);
});

/** x as n + rest, with the integer n in the low bits of `shifted`. */
export function reduceToInteger<T extends WideFloat>(x: Expr<T>) {
  const { rounder } = formats[x.type];
  const shifted = x.add(rounder);
  return { shifted, rest: x.sub(integerOf(shifted)) };
}

/** The integer n of rounder + n. Compilers of WGSL take (x + c) − c for x, so there it comes from the bits. */
function integerOf<T extends WideFloat>(shifted: Expr<T>): Expr<T> {
  const { bits, rounder, rounderBits } = formats[shifted.type];
  if (shifted.type === 'f64') return shifted.sub(rounder);
  return shifted.bits(bits).sub(rounderBits).to('i32').to(shifted.type);
}

/**
 * x as n · ln 2 + r + rest, with the integer n in the low bits of `shifted`, |r| just above ln 2 / 2 and |rest| at most
 * half an ulp of r. The first step is exact, even where fma rounds twice: the product has few bits.
 */
export function reduceByLn2<T extends WideFloat>(x: Expr<T>) {
  const { log2e, shortLn2 } = constants[x.type];
  const { rounder } = formats[x.type];
  const shifted = fma(x, log2e, rounder);
  const n = integerOf(shifted);
  const first = fma(n.neg(), shortLn2[0], x);
  const product = n.mul(shortLn2[1]);
  const r = first.sub(product);
  return { r, rest: first.sub(r).sub(product), shifted };
}

/** e^(r + rest) − 1 − r. */
export function expTail<T extends WideFloat>(r: Expr<T>, rest: Expr<T>): Expr<T> {
  return fma(r.mul(r), polynomial(r, constants[r.type].coefficients), fma(r, rest, rest));
}

/** e^(r + rest) · 2^n, n as in `reduceByLn2`. The power of two has two factors, since 2^n alone may not be a float. */
export function expOf<T extends WideFloat>(r: Expr<T>, rest: Expr<T>, shifted: Expr<T>): Expr<T> {
  const { bits, fraction, bias, rounderBits } = formats[r.type];
  const sum = exactSum(lit(r.type, 1), r);
  const value = sum.hi.add(sum.lo.add(expTail(r, rest)));
  const exponents = shifted.bits(bits).sub(rounderBits - 2n * bias);
  const half = exponents.shr(1);
  const power = (exponent: typeof half): Expr<T> => exponent.shl(fraction).bits(r.type);
  return value.mul(power(half)).mul(power(exponents.sub(half)));
}
