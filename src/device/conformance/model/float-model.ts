/**
 * Floats from first principles: a value is a fraction of bigints, a result is the nearest float to an exact fraction. It is
 * independent of the language's own evaluation, which it checks.
 */

type FloatType = 'f16' | 'f32' | 'f64';
const precision = { f16: 11, f32: 24, f64: 53 } as const;
const minUnit = { f16: -24, f32: -149, f64: -1074 } as const;
const maxUnit = { f16: 5, f32: 104, f64: 971 } as const;

interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export function floatResult(op: string, kind: FloatType, args: readonly number[]): number {
  const [a = 0, b = 0, c = 0] = args;
  switch (op) {
    case 'add':
      return sum(kind, a, b);
    case 'sub':
      return sum(kind, a, -b);
    case 'mul':
      return product(kind, a, b);
    case 'div':
      return quotient(kind, a, b);
    case 'sqrt':
      return squareRoot(kind, a);
    case 'fma':
      return fusedMultiplyAdd(kind, a, b, c);
    case 'neg':
      return isNegative(a) ? magnitude(a) : -magnitude(a);
    case 'abs':
      return magnitude(a);
    case 'floor':
    case 'ceil':
    case 'trunc':
    case 'round':
      return wholeNumber(op, a);
    case 'mix':
      return sum(kind, product(kind, a, sum(kind, 1, -c)), product(kind, b, c));
    default:
      throw new TypeError(`the model has no ${op} of floats`);
  }
}

const areFinite = (...list: number[]) => list.every((x) => Number.isFinite(x));
const isNegative = (x: number) => Object.is(x, -0) || x < 0;
const magnitude = (x: number) => (isNegative(x) ? -x : x);
const withSign = (size: number, minus: boolean) => (minus ? -size : size);

// With an infinity or a NaN nothing is rounded: JavaScript's rules are those of IEEE.
function sum(kind: FloatType, a: number, b: number): number {
  if (!areFinite(a, b)) return a + b;
  const exact = add(toFraction(a), toFraction(b));
  if (exact.numerator !== 0n) return nearestFloat(kind, exact);
  return a === 0 && b === 0 && isNegative(a) && isNegative(b) ? -0 : 0;
}

function product(kind: FloatType, a: number, b: number): number {
  if (!areFinite(a, b) || a === 0 || b === 0) return a * b;
  return nearestFloat(kind, multiply(toFraction(a), toFraction(b)));
}

function quotient(kind: FloatType, a: number, b: number): number {
  if (!areFinite(a, b) || a === 0 || b === 0) return a / b;
  const [x, y] = [toFraction(a), toFraction(b)];
  const flip = y.numerator < 0n ? -1n : 1n;
  return nearestFloat(kind, {
    numerator: x.numerator * y.denominator * flip,
    denominator: x.denominator * y.numerator * flip,
  });
}

function fusedMultiplyAdd(kind: FloatType, a: number, b: number, c: number): number {
  if (!areFinite(a, b)) return a * b + c;
  if (!areFinite(c)) return c; // the exact product is finite, whatever its size
  const exact = add(multiply(toFraction(a), toFraction(b)), toFraction(c));
  if (exact.numerator !== 0n) return nearestFloat(kind, exact);
  const minusProduct = isNegative(a) !== isNegative(b);
  const productIsZero = a === 0 || b === 0;
  return productIsZero && c === 0 && minusProduct && isNegative(c) ? -0 : 0;
}

/** Returns the integer below, above, towards zero, or nearest (ties to even), found in the exact fraction. */
function wholeNumber(op: 'floor' | 'ceil' | 'trunc' | 'round', a: number): number {
  if (!areFinite(a)) return a;
  const { numerator, denominator } = toFraction(a);
  const rest = ((numerator % denominator) + denominator) % denominator;
  const below = (numerator - rest) / denominator;
  const isUp = {
    floor: false,
    ceil: rest > 0n,
    trunc: rest > 0n && numerator < 0n,
    round: 2n * rest > denominator || (2n * rest === denominator && below % 2n !== 0n),
  }[op];
  const whole = Number(below + (isUp ? 1n : 0n));
  return whole === 0 ? withSign(0, isNegative(a)) : whole;
}

/** Computes an integer root with many spare bits and a sticky bit, then rounds. */
function squareRoot(kind: FloatType, a: number): number {
  if (!areFinite(a) || a <= 0) return Math.sqrt(a);
  const { numerator, denominator } = toFraction(a);
  const scale = 2400n; // even, and larger than any exponent here
  const radicand = (numerator << scale) / denominator; // exact: denominators are powers of two below 2^1100
  const floor = integerRoot(radicand);
  const sticky = floor * floor === radicand ? 0n : 1n;
  return nearestFloat(kind, { numerator: (floor << 1n) | sticky, denominator: 1n << (scale / 2n + 1n) });
}

function integerRoot(x: bigint): bigint {
  let guess = 1n << BigInt((x.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (guess + x / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

/** Returns the nearest float, ties to even; infinity from half a unit past the largest. */
export function nearestFloat(kind: FloatType, { numerator, denominator }: Fraction): number {
  if (numerator === 0n) return 0;
  const minus = numerator < 0n;
  const size = minus ? -numerator : numerator;
  // A unit in the last place so that the quotient has `precision` bits, never below the smallest unit.
  let unit = size.toString(2).length - denominator.toString(2).length - precision[kind];
  let best = -1;
  for (unit = Math.max(unit - 1, minUnit[kind]); ; unit++) {
    const [n, d] = unit >= 0 ? [size, denominator << BigInt(unit)] : [size << BigInt(-unit), denominator];
    const floor = n / d;
    if (floor >> BigInt(precision[kind]) !== 0n) continue;
    const rest = 2n * (n % d);
    const up = rest > d || (rest === d && floor % 2n === 1n);
    best = Number(floor + (up ? 1n : 0n)); // at most 2^53: exact
    break;
  }
  const tooLarge = unit > maxUnit[kind] || (unit === maxUnit[kind] && best === 2 ** precision[kind]);
  if (tooLarge) return withSign(Number.POSITIVE_INFINITY, minus);
  const half = Math.trunc(unit / 2);
  return withSign(best * 2 ** half * 2 ** (unit - half), minus);
}

/** Returns a finite float as a fraction, read from its bits. */
export function toFraction(x: number): Fraction {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const significand = field === 0 ? bits & 0xf_ffff_ffff_ffffn : (bits & 0xf_ffff_ffff_ffffn) | (1n << 52n);
  const exponent = (field === 0 ? 1 : field) - 1075;
  const numerator = bits >> 63n === 1n ? -significand : significand;
  return exponent >= 0
    ? { numerator: numerator << BigInt(exponent), denominator: 1n }
    : { numerator, denominator: 1n << BigInt(-exponent) };
}

/** Returns the nearest float of a type to a number. */
export const nearestTo = (kind: FloatType, x: number): number =>
  Number.isFinite(x) && x !== 0 ? nearestFloat(kind, toFraction(x)) : x;

/** Returns the value of a float of 16 bits: a sign, five bits of the exponent, ten of the fraction. */
export function halfValue(bits: number): number {
  const [exponent, fraction] = [Math.floor(bits / 1024) % 32, bits % 1024];
  const size =
    exponent === 31
      ? fraction === 0
        ? Number.POSITIVE_INFINITY
        : Number.NaN
      : exponent === 0
        ? fraction * 2 ** -24
        : (1024 + fraction) * 2 ** (exponent - 25);
  return withSign(size, bits >= 0x8000);
}

/** Returns the bits of a float of 16 bits. */
export function halfBits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const size = magnitude(value);
  // The bits of positive floats, and their values, are in the same order.
  let bits = 0;
  for (let bit = 0x4000; bit > 0; bit >>= 1) if (bits + bit <= 0x7c00 && halfValue(bits + bit) <= size) bits += bit;
  return bits + (isNegative(value) ? 0x8000 : 0);
}

const add = (a: Fraction, b: Fraction): Fraction => ({
  numerator: a.numerator * b.denominator + b.numerator * a.denominator,
  denominator: a.denominator * b.denominator,
});
const multiply = (a: Fraction, b: Fraction): Fraction => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator,
});
