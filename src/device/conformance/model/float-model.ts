/**
 * Floats from first principles: a value is a fraction of bigints, a result is the nearest float to an exact fraction. It is
 * independent of the language's own evaluation, which it checks.
 */

type Kind = 'f32' | 'f64';
const precision = { f32: 24, f64: 53 } as const;
const leastUnit = { f32: -149, f64: -1074 } as const;
const greatestUnit = { f32: 104, f64: 971 } as const;

interface Fraction {
  readonly top: bigint;
  readonly bottom: bigint;
}

export function floatResult(op: string, kind: Kind, args: readonly number[]): number {
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
      return root(kind, a);
    case 'fma':
      return fused(kind, a, b, c);
    case 'neg':
      return negative(a) ? magnitude(a) : -magnitude(a);
    default:
      throw new TypeError(`the model has no ${op} of floats`);
  }
}

const finite = (...list: number[]) => list.every((x) => Number.isFinite(x));
const negative = (x: number) => Object.is(x, -0) || x < 0;
const magnitude = (x: number) => (negative(x) ? -x : x);
const signed = (size: number, minus: boolean) => (minus ? -size : size);

// With an infinity or a NaN nothing is rounded: JavaScript's rules are those of IEEE.
function sum(kind: Kind, a: number, b: number): number {
  if (!finite(a, b)) return a + b;
  const exact = add(exactly(a), exactly(b));
  if (exact.top !== 0n) return nearest(kind, exact);
  return a === 0 && b === 0 && negative(a) && negative(b) ? -0 : 0;
}

function product(kind: Kind, a: number, b: number): number {
  if (!finite(a, b) || a === 0 || b === 0) return a * b;
  return nearest(kind, multiply(exactly(a), exactly(b)));
}

function quotient(kind: Kind, a: number, b: number): number {
  if (!finite(a, b) || a === 0 || b === 0) return a / b;
  const [x, y] = [exactly(a), exactly(b)];
  const flip = y.top < 0n ? -1n : 1n;
  return nearest(kind, { top: x.top * y.bottom * flip, bottom: x.bottom * y.top * flip });
}

function fused(kind: Kind, a: number, b: number, c: number): number {
  if (!finite(a, b)) return a * b + c;
  if (!finite(c)) return c; // the exact product is finite, whatever its size
  const exact = add(multiply(exactly(a), exactly(b)), exactly(c));
  if (exact.top !== 0n) return nearest(kind, exact);
  const minusProduct = negative(a) !== negative(b);
  const productIsZero = a === 0 || b === 0;
  return productIsZero && c === 0 && minusProduct && negative(c) ? -0 : 0;
}

/** Computes an integer root with many spare bits and a sticky bit, then rounds. */
function root(kind: Kind, a: number): number {
  if (!finite(a) || a <= 0) return Math.sqrt(a);
  const { top, bottom } = exactly(a);
  const scale = 2400n; // even, and larger than any exponent here
  const radicand = (top << scale) / bottom; // exact: bottoms are powers of two below 2^1100
  const floor = integerRoot(radicand);
  const sticky = floor * floor === radicand ? 0n : 1n;
  return nearest(kind, { top: (floor << 1n) | sticky, bottom: 1n << (scale / 2n + 1n) });
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
export function nearest(kind: Kind, { top, bottom }: Fraction): number {
  if (top === 0n) return 0;
  const minus = top < 0n;
  const size = minus ? -top : top;
  // A unit in the last place so that the quotient has `precision` bits, never below the least there is.
  let unit = size.toString(2).length - bottom.toString(2).length - precision[kind];
  let best = -1;
  for (unit = Math.max(unit - 1, leastUnit[kind]); ; unit++) {
    const [n, d] = unit >= 0 ? [size, bottom << BigInt(unit)] : [size << BigInt(-unit), bottom];
    const floor = n / d;
    if (floor >> BigInt(precision[kind]) !== 0n) continue;
    const rest = 2n * (n % d);
    const up = rest > d || (rest === d && floor % 2n === 1n);
    best = Number(floor + (up ? 1n : 0n)); // at most 2^53: exact
    break;
  }
  const tooLarge = unit > greatestUnit[kind] || (unit === greatestUnit[kind] && best === 2 ** precision[kind]);
  if (tooLarge) return signed(Number.POSITIVE_INFINITY, minus);
  const half = Math.trunc(unit / 2);
  return signed(best * 2 ** half * 2 ** (unit - half), minus);
}

/** Returns a finite float as a fraction, read from its bits. */
export function exactly(x: number): Fraction {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const significand = field === 0 ? bits & 0xf_ffff_ffff_ffffn : (bits & 0xf_ffff_ffff_ffffn) | (1n << 52n);
  const exponent = (field === 0 ? 1 : field) - 1075;
  const top = bits >> 63n === 1n ? -significand : significand;
  return exponent >= 0 ? { top: top << BigInt(exponent), bottom: 1n } : { top, bottom: 1n << BigInt(-exponent) };
}

const add = (a: Fraction, b: Fraction): Fraction => ({
  top: a.top * b.bottom + b.top * a.bottom,
  bottom: a.bottom * b.bottom,
});
const multiply = (a: Fraction, b: Fraction): Fraction => ({ top: a.top * b.top, bottom: a.bottom * b.bottom });
