import { type Expr, lit } from '../../language/expr.js';
import { min } from '../../language/operations.js';
import type { Float, WideFloat } from '../../language/types.js';
import { exactSum, quotient } from './double-word.js';
import { expTail, reduceByLn2 } from './exp.js';
import { floatFunction, formats, splitSign } from './format.js';

/** Returns the hyperbolic tangent. */
export function tanh<T extends Float>(x: Expr<T>): Expr<T> {
  return tanhFunction(x);
}

/** For larger 2|x| the result rounds to 1. */
const limits: Readonly<Record<WideFloat, number>> = { f64: 44, f32: 20 };

/** (e^2x − 1) / (e^2x + 1), with e^2x = 2^n · (1 + p) and both sums as double words. */
const tanhFunction = floatFunction('tanh', (x) => {
  const { bits, fraction, bias, rounderBits } = formats[x.type];
  const { sign, size } = splitSign(x);
  const { r, rest, shifted } = reduceByLn2(min(size.add(size), limits[x.type]));
  const p = exactSum(r, expTail(r, rest));
  const power = shifted
    .bits(bits)
    .sub(rounderBits - bias)
    .shl(fraction)
    .bits(x.type);
  const [high, low] = [power.mul(p.hi), power.mul(p.lo)];
  const plus = (one: 1 | -1) => {
    const head = exactSum(power, lit(x.type, one));
    const sum = exactSum(head.hi, high);
    return { hi: sum.hi, lo: sum.lo.add(head.lo.add(low)) };
  };
  const top = plus(-1);
  const { hi, lo } = quotient(top.hi, top.lo, plus(1));
  return hi.add(lo).bits(bits).xor(sign).bits(x.type);
});
