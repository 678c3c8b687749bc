import { type Expr, lit } from '../../language/expr.js';
import { select } from '../../language/operations.js';
import type { Float } from '../../language/types.js';
import { precisions, reduceRange, sincosNearZero } from '../number/sincos.js';
import { quotient } from './double-word.js';
import { floatFunction, formats, splitSign } from './format.js';

/** Returns the tangent for |x| ≤ 2^40 in f64 and |x| ≤ 2^17 in f32; beyond it NaN, as `sincos`. */
export function tan<T extends Float>(x: Expr<T>): Expr<T> {
  return tanFunction(x);
}

/** sin / cos, or −cos / sin in odd quadrants, each with the part that its last sum has lost. */
const tanFunction = floatFunction('tan', (x) => {
  const { bits } = formats[x.type];
  const precision = precisions[x.type];
  const { sign, size } = splitSign(x);
  const { r, rest, quadrant } = reduceRange(size, precision);
  const { sine, sineTail, cosine, one, cosineTail } = sincosNearZero(r, rest, precision);
  const sineLow = sineTail.sub(sine.sub(r));
  const cosineLow = cosineTail.sub(cosine.sub(one));

  const isOdd = quadrant.and(1).ne(0);
  const { hi, lo } = quotient(select(isOdd, cosine, sine), select(isOdd, cosineLow, sineLow), {
    hi: select(isOdd, sine, cosine),
    lo: select(isOdd, sineLow, cosineLow),
  });
  const signed = hi
    .add(lo)
    .bits(bits)
    .xor(quadrant.shl(precision.width - 1))
    .xor(sign)
    .bits(x.type);
  return select(size.le(precision.limit), signed, lit(x.type, Number.NaN));
});
