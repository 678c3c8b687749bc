import type { Node } from '../../ir/program.js';
import { floatOfHalf, halfOfFloat } from '../../std/number/half.js';
import { asScalar, Expr, type ExprLike, type Lowering, operand } from '../expr.js';
import { select } from '../operations.js';
import type { Scalar } from '../types.js';

/**
 * f16 is an f32 whose value a float of 16 bits has. An operation of f32, rounded to 16 bits, is the correctly rounded one
 * for + − × ÷ √: two roundings are one if the first keeps at least 2·11 + 2 bits, and an f32 has 24 (Figueroa: When is double
 * rounding innocuous?). This holds for denormal results too, since no f32 in between is denormal.
 */
export const f16Lowering: Lowering = {
  same: new Set([
    ...(['neg', 'abs', 'floor', 'ceil', 'trunc', 'round'] as const),
    ...(['eq', 'ne', 'lt', 'le', 'select'] as const),
  ]),
  operations: {
    add: (a, b) => rounded(single(a).add(single(b))),
    sub: (a, b) => rounded(single(a).sub(single(b))),
    mul: (a, b) => rounded(single(a).mul(single(b))),
    div: (a, b) => rounded(single(a).div(single(b))),
    sqrt: (a) => rounded(single(a).sqrt()),
    fma: (a, b, c) => rounded(oddSum(single(a).mul(single(b)), single(c))),
  },
  // An integer that an f32 rounds is too large for an f16.
  from: (value) => rounded(value.type === 'f64' ? oddSingle(value as unknown as Expr<'f64'>) : value.to('f32')),
  to: (value, type) => value.to(type),
};

/** Makes an f16 of its 16 bits, the low ones of a word. */
export function f16Of(bits: ExprLike<'u32'>): Expr<'f16'> {
  const low = operand('u32', bits).and(0xffff);
  const { node } = floatOfHalf(low);
  bitsOfNode.set(node, low.node);
  return new Expr('f16', node);
}

/** Returns the 16 bits of an f16. */
export function f16Bits(value: ExprLike<'f16'>): Expr<'u32'> {
  const single = asScalar(operand('f16', value));
  const known = bitsOfNode.get(single.node);
  return known ? new Expr('u32', known) : halfOfFloat(single).bits;
}

/** The bits of values that were made together with them. */
const bitsOfNode = new WeakMap<Node, Node>();

function rounded(value: Expr<Scalar>): Expr<'f32'> {
  const half = halfOfFloat(single(value));
  bitsOfNode.set(half.value.node, half.bits.node);
  return half.value;
}

const single = (value: Expr<Scalar>): Expr<'f32'> => value as unknown as Expr<'f32'>;

/**
 * Returns a + b rounded to odd: if an f32 does not have the sum, the neighbour whose last bit is 1. Rounded again, to fewer
 * bits, it is as the sum rounded once. The product of two f16 is exact as an f32, so that this makes an fma.
 */
function oddSum(a: Expr<'f32'>, b: Expr<'f32'>): Expr<'f32'> {
  const sum = a.add(b);
  const part = sum.sub(a);
  const error = a.sub(sum.sub(part)).add(b.sub(part)); // exact (Knuth); NaN if the sum is not finite
  const isInexact = error.lt(0).or(error.gt(0));
  return toOdd(sum, isInexact, error.lt(0).ne(sum.lt(0)));
}

/** Returns an f64 rounded to odd. */
function oddSingle(x: Expr<'f64'>): Expr<'f32'> {
  const near = x.to('f32');
  const back = near.to('f64');
  return toOdd(near, back.ne(x), back.abs().gt(x.abs()));
}

/** Turns the nearest float into the odd one. `isBeyond`: it is farther from zero than the exact value. */
function toOdd(near: Expr<'f32'>, isInexact: Expr<'bool'>, isBeyond: Expr<'bool'>): Expr<'f32'> {
  const bits = near.bits('u32');
  const odd = bits.sub(isBeyond.to('u32')).or(1);
  return select(isInexact, odd, bits).bits('f32');
}
