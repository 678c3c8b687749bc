/** Exact float arithmetic with bigints, which the interpreter needs and JavaScript does not have. */

interface FloatFormat {
  /** Bits of the significand. */
  readonly precision: number;
  /** Exponent of the smallest denormal's unit. */
  readonly minExponent: number;
  /** Values from 2 to this power on round to infinity. */
  readonly overflowExponent: number;
}
const formats: Readonly<Record<'f32' | 'f64', FloatFormat>> = {
  f32: { precision: 24, minExponent: -149, overflowExponent: 128 },
  f64: { precision: 53, minExponent: -1074, overflowExponent: 1024 },
};

/** Returns a·b + c with a single rounding. */
export function fusedMultiplyAdd(type: 'f32' | 'f64', a: number, b: number, c: number): number {
  // With an infinity, a NaN or a zero factor no rounding is involved, and plain arithmetic gives the right signs.
  if (!Number.isFinite(a) || !Number.isFinite(b) || a === 0 || b === 0) return a * b + c;
  if (!Number.isFinite(c)) return c; // the exact product is finite, even if a · b rounded to a number overflows
  const x = splitFloat(a);
  const y = splitFloat(b);
  const product = { mantissa: x.mantissa * y.mantissa, exponent: x.exponent + y.exponent };
  if (c === 0) return round(type, product.mantissa, product.exponent);
  const z = splitFloat(c);
  const exponent = Math.min(product.exponent, z.exponent);
  const sum = (product.mantissa << BigInt(product.exponent - exponent)) + (z.mantissa << BigInt(z.exponent - exponent));
  return round(type, sum, exponent);
}

/** Returns mantissa · 2^exponent, rounded to nearest, ties to even. */
export function round(type: 'f32' | 'f64', mantissa: bigint, exponent: number): number {
  if (mantissa === 0n) return 0;
  const { precision, minExponent, overflowExponent } = formats[type];
  const negative = mantissa < 0n;
  const size = negative ? -mantissa : mantissa;
  const length = size.toString(2).length;
  const unit = Math.max(exponent + length - precision, minExponent);
  let rounded = size;
  if (unit > exponent) {
    const drop = BigInt(unit - exponent);
    const half = 1n << (drop - 1n);
    const rest = size & ((1n << drop) - 1n);
    rounded = size >> drop;
    if (rest > half || (rest === half && (rounded & 1n) === 1n)) rounded += 1n;
  } else {
    rounded = size << BigInt(exponent - unit);
  }
  if (rounded === 0n) return negative ? -0 : 0;
  const magnitude =
    unit + rounded.toString(2).length > overflowExponent ? Number.POSITIVE_INFINITY : scale(Number(rounded), unit);
  return negative ? -magnitude : magnitude;
}

/**
 * Returns x · 2^exponent for an x of at most 53 bits and an exact result. Uses two steps, since 2^-1074 is the smallest
 * factor.
 */
function scale(x: number, exponent: number): number {
  const first = Math.max(-1000, Math.min(1000, exponent));
  return x * 2 ** first * 2 ** (exponent - first);
}

function splitFloat(x: number): { mantissa: bigint; exponent: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  const size = biased === 0 ? fraction : fraction | (1n << 52n);
  return { mantissa: bits >> 63n ? -size : size, exponent: Math.max(biased, 1) - 1075 };
}
