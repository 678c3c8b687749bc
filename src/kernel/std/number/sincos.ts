import { type Expr, lit } from '../../language/expr.js';
import { fma, select } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import type { Float, WideFloat } from '../../language/types.js';
import { byWideFloat, polynomial } from '../math/format.js';

/**
 * Computes sine and cosine together, with one polynomial for all targets. It uses correctly rounded operations only, so the
 * bits are equal on all targets with exact floats (all but WGSL).
 *
 * Error: at most 0.73 ulp in f64 and 0.72 ulp in f32 over two million points each (random of all sizes, multiples of π/2 and
 * their neighbours), so below 1 ulp. Range: |x| ≤ 2^40 in f64, |x| ≤ 2^17 in f32, where neighbouring floats are 2^-12 and
 * 2^-6 apart; beyond it, and for infinities and NaN, both results are NaN, never a plausible wrong number. sin(−0) is −0;
 * denormals are their own sine.
 */
export function sincos<T extends Float>(x: Expr<T>): { sin: Expr<T>; cos: Expr<T> } {
  const [sin, cos] = byWideFloat('sincos', [x], sincosFunction) as unknown as [Expr<T>, Expr<T>];
  return { sin, cos };
}

/** Numbers of one precision. Bits are worked on as an integer type of the same width. */
export interface Precision {
  readonly bits: 'u32' | 'u64';
  readonly width: 32 | 64;
  /** Quiet NaN; or-ing it turns any value into a NaN. */
  readonly nan: number | bigint;
  readonly limit: number;
  /** 1.5 · 2^(precision − 1): adding it rounds to an integer, which is then in the low bits. */
  readonly rounder: number;
  readonly twoOverPi: number;
  /** π/2 in three parts of full precision each: 161 and 76 bits. */
  readonly halfPi: readonly [number, number, number];
  /** sin r = r + r³·S(r²), cos r = 1 − r²/2 + r⁴·C(r²), lowest power first. */
  readonly sine: readonly number[];
  readonly cosine: readonly number[];
}

/**
 * Coefficients: weighted minimax (Remez at 300 bits, relative error of the whole function), over |r| ≤ 1.0005·π/4 in f64
 * and |r| ≤ 0.793 in f32, the latter since 2/π in f32 puts r that far off at 2^17. Each coefficient was rounded before
 * the ones after it were fitted again. Relative error left: 2^-57.9 and 2^-63.9 in f64, 2^-27.8 and 2^-32.7 in f32.
 */
export const precisions: Readonly<Record<WideFloat, Precision>> = {
  f64: {
    bits: 'u64',
    width: 64,
    nan: 0x7ff8_0000_0000_0000n,
    limit: 2 ** 40,
    rounder: 1.5 * 2 ** 52,
    twoOverPi: 0.6366197723675814,
    halfPi: [1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33],
    sine: [
      -0.1666666666666663, 0.00833333333332184, -0.00019841269829358533, 2.755731353851757e-6, -2.505073438993175e-8,
      1.589543333354581e-10,
    ],
    cosine: [
      0.041666666666666595, -0.0013888888888873325, 2.4801587288983675e-5, -2.755731421007159e-7, 2.0875704270238837e-9,
      -1.1358683277602667e-11,
    ],
  },
  f32: {
    bits: 'u32',
    width: 32,
    nan: 0x7fc0_0000,
    limit: 2 ** 17,
    rounder: 1.5 * 2 ** 23,
    twoOverPi: 0.6366197466850281,
    halfPi: [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15],
    sine: [-0.16666653752326965, 0.008332106284797192, -0.00019507882825564593],
    cosine: [0.04166664555668831, -0.0013887297827750444, 2.4430084522464313e-5],
  },
};

const sincosFunction = std({
  name: 'sincos',
  results: ([x]) => [x?.type ?? 'f64', x?.type ?? 'f64'],
  generic: (x) => generic(x as Expr<WideFloat>),
});

function generic<T extends WideFloat>(x: Expr<T>): Expr<T>[] {
  const p = precisions[x.type];
  const top = p.width - 1;
  const all = x.bits(p.bits);
  const sign = all.shr(top).shl(top);
  const size = all.xor(sign).bits(x.type);

  const { r, rest, quadrant } = reduceRange(size, p);
  const { sine: s, cosine: c } = sincosNearZero(r, rest, p);

  const isOdd = quadrant.and(1).ne(0);
  const bad = select(size.le(p.limit), lit(p.bits, 0), p.nan);
  const finished = (value: Expr<T>, negative: typeof quadrant) =>
    value
      .bits(p.bits)
      .xor(negative.and(2).shl(top - 1))
      .or(bad)
      .bits(x.type);
  return [
    finished(select(isOdd, c, s), quadrant.xor(sign.shr(top - 1))),
    finished(select(isOdd, s, c), quadrant.add(1)),
  ];
}

/**
 * x ≥ 0 as quadrant · π/2 + r + rest, |r| just above π/4, |rest| about half an ulp of r. The first step is exact: x and n
 * · halfPi[0] are both multiples of halfPi[0]'s last bit (for x < 1 and n = 1, of half of it), and their difference is below
 * 1. The second keeps its rounding error; the third adds the remaining part of π/2.
 */
export function reduceRange<T extends WideFloat>(x: Expr<T>, p: Precision) {
  const shifted = fma(x, p.twoOverPi, p.rounder);
  const n = shifted.sub(p.rounder);
  const minus = n.neg();
  const first = fma(minus, p.halfPi[0], x);

  const product = n.mul(p.halfPi[1]);
  const productRest = fma(n, p.halfPi[1], product.neg());
  // The exact sum of two floats, whichever is larger: near a multiple of π/2 it is the product.
  const r = first.sub(product);
  const took = r.sub(first);
  const lost = first.sub(r.sub(took)).sub(product.add(took));
  const rest = fma(minus, p.halfPi[2], lost.sub(productRest));
  return { r, rest, quadrant: shifted.bits(p.bits) };
}

/** Sine and cosine of r + rest, as r + sineTail and one + cosineTail. */
export function sincosNearZero<T extends WideFloat>(r: Expr<T>, rest: Expr<T>, p: Precision) {
  const z = r.mul(r);
  const zRest = fma(r, r, z.neg());
  const half = z.mul(0.5);
  const sineTail = fma(r.mul(z), polynomial(z, p.sine), fma(half.neg(), rest, rest));
  const sine = r.add(sineTail);

  // The rounding error of 1 − z/2 is kept: without it, and without z's own error, the cosine would be 0.8 ulp off.
  const one = lit(r.type, 1).sub(half);
  const oneRest = lit(r.type, 1).sub(one).sub(half);
  const tail = fma(z.mul(z), polynomial(z, p.cosine), fma(r.neg(), rest, zRest.mul(-0.5)));
  const cosineTail = oneRest.add(tail);
  return { sine, sineTail, cosine: one.add(cosineTail), one, cosineTail };
}
