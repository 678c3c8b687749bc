import { ValueStage } from '../../ir/program.js';
import { Expr, type ExprLike, lit, operand } from '../../language/expr.js';
import { mulHi, select, u64Of } from '../../language/operations.js';
import { bitsOf, type Unsigned } from '../../language/types.js';

export interface DivMod<T extends Unsigned> {
  readonly div: Expr<T>;
  readonly rem: Expr<T>;
}

/**
 * Returns x / d and x % d, exact for all operands; x / 0 is x and x % 0 is 0. If d is known before the launch (a literal, a
 * job or a chunk value), an item multiplies and shifts: the host computes the numbers for that. Otherwise it divides.
 */
export function divMod<T extends Unsigned>(x: Expr<T>, d: ExprLike<NoInfer<T>>): DivMod<T> {
  const value = snapshot(x);
  const given = snapshot(operand(x.type, d));
  const { stage, detail } = given.node;
  if (stage === ValueStage.varying) return { div: value.div(given), rem: value.rem(given) };
  if (stage === ValueStage.constant && detail.value !== undefined) {
    const div = x.type === 'u64' ? divideByLiteral(value, BigInt(detail.value)) : value.div(given);
    return { div, rem: BigInt(detail.value) === 0n ? value.rem(given) : value.sub(div.mul(given)) };
  }
  const divisor = orOne(given);
  const div = divideByKnown(value, divisor);
  return { div, rem: value.sub(div.mul(divisor)) };
}

/** Returns column and row of an index, given by its words. All that depends on the high word is the same for a launch. */
export function rowAndColumn(
  low: Expr<'u32'>,
  high: Expr<'u32'>,
  width: ExprLike<'u32'>,
): { readonly x: Expr<'u32'>; readonly y: Expr<'u32'> } {
  const columns = orOne(snapshot(operand('u32', width)));
  const { div, rem } = divMod(low, columns);
  const above = u64Of(0, high);
  const rows = above.div(columns.to('u64')).lo;
  const rest = above.rem(columns.to('u64')).lo;
  // rem + rest may need 33 bits; both are below the width.
  const gap = columns.sub(rest);
  const carries = rem.ge(gap);
  return { x: select(carries, rem.sub(gap), rem.add(rest)), y: div.add(rows).add(carries.to('u32')) };
}

/** Takes the value of a cell once. */
const snapshot = <T extends Unsigned>(value: Expr<T>): Expr<T> => new Expr(value.type, value.node);

/** A division by 0 is one by 1. */
const orOne = <T extends Unsigned>(d: Expr<T>): Expr<T> => select(d.eq(0), lit(d.type, 1), d);

/**
 * Divides by a u64 that is a literal. The inverse m = ceil(2^(64+s) / d) is exact for every x if its error m·d − 2^(64+s) is
 * at most 2^s; the smallest s whose m has 64 bits is used. Without one, m has 65 bits, and its upper bit is an addition of x.
 */
function divideByLiteral<T extends Unsigned>(x: Expr<T>, d: bigint): Expr<T> {
  if ((d & (d - 1n)) === 0n) return x.div(d); // 0, or a power of two, which becomes a shift
  const log = BigInt(d.toString(2).length); // rounded up
  const inverse = (s: bigint): bigint => ((1n << (64n + s)) + d - 1n) / d;
  for (let s = 0n; s <= log; s++) {
    const m = inverse(s);
    if (m >> 64n === 0n && m * d - (1n << (64n + s)) <= 1n << s) return mulHi(x, m).shr(Number(s));
  }
  const t = mulHi(x, inverse(log) - (1n << 64n));
  return x
    .sub(t)
    .shr(1)
    .add(t)
    .shr(Number(log) - 1);
}

/**
 * Divides by a number that is known before the launch and not 0 (Granlund, Montgomery: Division by invariant integers using
 * multiplication, figure 4.1). With l = ceil(log2 d) and m = floor(2^w (2^l − d) / d) + 1, of w bits, the quotient is
 * (t + (x − t) / 2) / 2^(l−1) for t = mulHi(m, x); for d = 1 both shifts are 0.
 */
function divideByKnown<T extends Unsigned>(x: Expr<T>, d: Expr<T>): Expr<T> {
  const width = bitsOf(x.type);
  const log = lit('u32', width).sub(d.sub(1).clz());
  const first = select(log.eq(0), lit('u32', 0), 1);
  const power = select(log.eq(width), lit(d.type, 0), lit(d.type, 1).shl(log)); // modulo 2^w
  const multiplier = fraction(power.sub(d), d).add(1);
  const t = mulHi(x, multiplier);
  return x.sub(t).shr(first).add(t).shr(log.sub(first));
}

/** Returns floor(2^w · n / d) for n < d. */
function fraction<T extends Unsigned>(n: Expr<T>, d: Expr<T>): Expr<T> {
  if (n.type === 'u32') return n.to('u64').shl(32).div(d.to('u64')).to(n.type);
  return wideFraction(n as unknown as Expr<'u64'>, d as unknown as Expr<'u64'>) as unknown as Expr<T>;
}

/** Divides n·2^64 by d in two digits of 32 bits (Knuth's algorithm D; the lower digits of the dividend are 0). */
function wideFraction(n: Expr<'u64'>, d: Expr<'u64'>): Expr<'u64'> {
  const shift = d.clz();
  const divisor = d.shl(shift);
  const [top, bottom] = [divisor.shr(32), divisor.and(0xffff_ffff)];
  const digit = (rest: Expr<'u64'>): Expr<'u64'> => {
    let q = rest.div(top);
    let r = rest.sub(q.mul(top));
    for (let i = 0; i < 2; i++) {
      // q is at most two too large. Once r has left 32 bits, q is right.
      const isTooLarge = q.gt(0xffff_ffff).or(q.mul(bottom).gt(r.shl(32)));
      const isLowered = isTooLarge.and(r.le(0xffff_ffff));
      q = q.sub(isLowered.to('u64'));
      r = r.add(select(isLowered, top, 0));
    }
    return q;
  };
  const rest = n.shl(shift);
  const high = digit(rest);
  const low = digit(rest.shl(32).sub(high.mul(divisor)));
  return high.shl(32).add(low);
}
