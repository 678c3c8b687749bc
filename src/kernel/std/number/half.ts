import { type Expr, lit } from '../../language/expr.js';
import { select } from '../../language/operations.js';

/** Conversions between f32 and the bits of a float of 16 bits (IEEE 754 binary16), exact on every target. */

const EXPONENT_SHIFT = 10;
/** The difference of the exponents' biases, 127 − 15, in the place of an f32's exponent. */
const BIAS = 112 << 23;
const F32_INFINITY = 0x7f80_0000;
/** The smallest normal float of 16 bits, 2^−14, and the first beyond the largest, 2^16, as f32. */
const SMALLEST_NORMAL = 0x3880_0000;
const TOO_LARGE = 0x4780_0000;
const HALF_INFINITY = 0x7c00;
const HALF_NAN = 0x7e00;

/** Every such float is an f32. */
export function floatOfHalf(bits: Expr<'u32'>): Expr<'f32'> {
  const sign = bits.and(0x8000).shl(16);
  const magnitude = bits.and(0x7fff);
  const exponent = magnitude.shr(EXPONENT_SHIFT);
  const subnormal = magnitude
    .to('f32')
    .mul(2 ** -24)
    .bits('u32');
  const normal = magnitude.shl(13).add(BIAS);
  const special = magnitude.shl(13).or(F32_INFINITY);
  const absolute = select(exponent.eq(0), subnormal, select(exponent.eq(31), special, normal));
  return absolute.or(sign).bits('f32');
}

/** Rounds to the nearest, ties to even. All NaN become one. */
export function halfOfFloat(value: Expr<'f32'>): Expr<'u32'> {
  const bits = value.bits('u32');
  const sign = bits.shr(16).and(0x8000);
  const magnitude = bits.and(0x7fff_ffff);
  // The last bit of 0.5 is 2^−24, as that of a subnormal float of 16 bits: the addition rounds.
  const subnormal = magnitude.bits('f32').add(lit('f32', 0.5)).bits('u32').sub(0x3f00_0000);
  const isOdd = magnitude.shr(13).and(1);
  const normal = magnitude.sub(BIAS).add(0xfff).add(isOdd).shr(13);
  const large = select(magnitude.gt(F32_INFINITY), lit('u32', HALF_NAN), HALF_INFINITY);
  const rounded = select(magnitude.lt(SMALLEST_NORMAL), subnormal, select(magnitude.ge(TOO_LARGE), large, normal));
  return rounded.or(sign);
}
