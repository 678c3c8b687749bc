import { type Expr, lit } from '../../language/expr.js';
import { select } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import { nativeFloatOfHalf, nativeHalfOfFloat } from './half-native.js';

/** Conversions between f32 and floats of 16 bits (IEEE 754 binary16), exact on every target. */

/** Rounds to the nearest float of 16 bits, ties to even: its bits, and its value. */
export function halfOfFloat(value: Expr<'f32'>): { readonly bits: Expr<'u32'>; readonly value: Expr<'f32'> } {
  const [bits, rounded] = halfFunction(value) as unknown as [Expr<'u32'>, Expr<'f32'>];
  return { bits, value: rounded };
}

/** Returns the value of a float of 16 bits. Bits above these must be 0. */
export const floatOfHalf = (bits: Expr<'u32'>): Expr<'f32'> => floatFunction(bits)[0] as unknown as Expr<'f32'>;

const EXPONENT_SHIFT = 10;
/** The difference of the exponents' biases, 127 − 15, in the place of an f32's exponent. */
const BIAS = 112 << 23;
const F32_INFINITY = 0x7f80_0000;
/** The smallest normal float of 16 bits, 2^−14, and the first beyond the largest, 2^16, as f32. */
const SMALLEST_NORMAL = 0x3880_0000;
const TOO_LARGE = 0x4780_0000;
const HALF_INFINITY = 0x7c00;
const HALF_NAN = 0x7e00;
/** The bits of 0.5, whose last bit is 2^−24, as that of a denormal float of 16 bits: adding 0.5 rounds. */
const ROUNDER = 0x3f00_0000;

const floatFunction = std({
  name: 'f32-of-f16',
  results: () => ['f32'],
  generic: (word) => {
    const bits = word as unknown as Expr<'u32'>;
    const sign = bits.and(0x8000).shl(16);
    const magnitude = bits.and(0x7fff);
    const exponent = magnitude.shr(EXPONENT_SHIFT);
    const subnormal = multipleOfSmallest(magnitude);
    const normal = magnitude.shl(13).add(BIAS);
    const special = magnitude.shl(13).or(F32_INFINITY);
    const absolute = select(exponent.eq(0), subnormal, select(exponent.eq(31), special, normal));
    return [absolute.or(sign).bits('f32')];
  },
  native: nativeFloatOfHalf,
});

const halfFunction = std({
  name: 'f16-of-f32',
  results: () => ['u32', 'f32'],
  generic: (float) => {
    const bits = (float as unknown as Expr<'f32'>).bits('u32');
    const magnitude = bits.and(0x7fff_ffff);
    const subnormal = magnitude.bits('f32').add(lit('f32', 0.5)).bits('u32').sub(ROUNDER);
    const isOdd = magnitude.shr(13).and(1);
    const isSmall = magnitude.lt(SMALLEST_NORMAL);
    const isNotNumber = magnitude.gt(F32_INFINITY);

    const shifted = magnitude.sub(BIAS).add(0xfff).add(isOdd).shr(13);
    const large = select(isNotNumber, lit('u32', HALF_NAN), HALF_INFINITY);
    const half = select(isSmall, subnormal, select(magnitude.ge(TOO_LARGE), large, shifted));

    const cut = magnitude.add(0xfff).add(isOdd).and(~0x1fff);
    const finite = select(cut.ge(TOO_LARGE), lit('u32', F32_INFINITY), cut);
    const whole = select(isSmall, multipleOfSmallest(subnormal), select(isNotNumber, magnitude, finite));
    return [half.or(bits.shr(16).and(0x8000)), whole.or(bits.and(0x8000_0000)).bits('f32')];
  },
  native: nativeHalfOfFloat,
});

export const halfFunctions = [floatFunction, halfFunction];

/** Returns the bits of n · 2^−24, as f32. */
const multipleOfSmallest = (n: Expr<'u32'>): Expr<'u32'> =>
  n
    .to('f32')
    .mul(2 ** -24)
    .bits('u32');
