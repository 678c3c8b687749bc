import { type Expr, lit } from '../../language/expr.js';
import { fma } from '../../language/operations.js';
import type { WideFloat } from '../../language/types.js';

/** The unevaluated sum hi + lo of two floats, |lo| at most about the last place of hi. */
export interface DoubleWord<T extends WideFloat> {
  readonly hi: Expr<T>;
  readonly lo: Expr<T>;
}

/** a + b exactly, if a = 0 or the exponent of a is at least that of b. */
export function exactSum<T extends WideFloat>(a: Expr<T>, b: Expr<T>): DoubleWord<T> {
  const hi = a.add(b);
  return { hi, lo: b.sub(hi.sub(a)) };
}

/** a · b exactly, unless it underflows. */
export function exactProduct<T extends WideFloat>(a: Expr<T>, b: Expr<T>): DoubleWord<T> {
  const hi = a.mul(b);
  return { hi, lo: fma(a, b, hi.neg()) };
}

/** (n + nLow) / d, with a relative error of about the square of one rounding. */
export function quotient<T extends WideFloat>(n: Expr<T>, nLow: Expr<T> | undefined, d: DoubleWord<T>): DoubleWord<T> {
  const inverse = lit(n.type, 1).div(d.hi);
  const hi = n.mul(inverse);
  const left = fma(hi.neg(), d.hi, n);
  const all = fma(hi.neg(), d.lo, nLow ? left.add(nLow) : left);
  return { hi, lo: all.mul(inverse) };
}
