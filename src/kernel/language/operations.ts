import { apply, type Expr, type ExprLike, lit, operand, typeError } from './expr.js';
import type { Float, Numeric, Type, Unsigned } from './types.js';

/** Returns `yes` if the condition holds, else `no`. Both are computed. One of the two may be a literal. */
export function select<T extends Type>(condition: Expr<'bool'>, yes: Expr<T>, no: ExprLike<NoInfer<T>>): Expr<T>;
export function select<T extends Type>(condition: Expr<'bool'>, yes: ExprLike<NoInfer<T>>, no: Expr<T>): Expr<T>;
export function select<T extends Type>(condition: Expr<'bool'>, yes: ExprLike<T>, no: ExprLike<T>): Expr<T> {
  return apply('select', condition, yes, no);
}

/** Returns the smaller value; for floats, `a` if neither is smaller (so min(NaN, x) is NaN and min(x, NaN) is x). */
export function min<T extends Numeric>(a: Expr<T>, b: ExprLike<NoInfer<T>>): Expr<T> {
  const other = operand(a.type, b);
  return select(other.lt(a), other, a);
}

export function max<T extends Numeric>(a: Expr<T>, b: ExprLike<NoInfer<T>>): Expr<T> {
  const other = operand(a.type, b);
  return select(a.lt(other), other, a);
}

/** Returns x within [lo, hi]: min(max(x, lo), hi), so `hi` if lo > hi, and a NaN if x is one. */
export function clamp<T extends Numeric>(x: Expr<T>, lo: ExprLike<NoInfer<T>>, hi: ExprLike<NoInfer<T>>): Expr<T> {
  return min(max(x, lo), hi);
}

/** Returns a·(1 − t) + b·t, each step rounded: a at t = 0 and b at t = 1 if both are finite. */
export function mix<T extends Float>(a: Expr<T>, b: ExprLike<NoInfer<T>>, t: ExprLike<NoInfer<T>>): Expr<T> {
  const part = operand(a.type, t);
  return apply('add', apply('mul', a, apply('sub', lit(a.type, 1), part)), apply('mul', operand(a.type, b), part));
}

/** Selects bit by bit: `ones` where the mask's bit is 1, `zeros` where it is 0. */
export function bitSelect<T extends Unsigned>(
  mask: Expr<T>,
  ones: ExprLike<NoInfer<T>>,
  zeros: ExprLike<NoInfer<T>>,
): Expr<T> {
  return apply('bitSelect', mask, ones, zeros);
}

/** Returns the low word of (high:low) >> count, count mod 32. */
export function funnel(high: ExprLike<'u32'>, low: ExprLike<'u32'>, count: ExprLike<'u32'>): Expr<'u32'> {
  return apply('funnel', high, low, count);
}

/** Returns the upper half of the product. */
export function mulHi<T extends Unsigned>(a: Expr<T>, b: ExprLike<NoInfer<T>>): Expr<T> {
  return apply('mulHi', a, b);
}

/** Returns a·b + c with one rounding on every target that has floats of that type. */
export function fma<T extends Float>(a: Expr<T>, b: ExprLike<NoInfer<T>>, c: ExprLike<NoInfer<T>>): Expr<T> {
  return apply('fma', a, b, c);
}

/** Returns both halves of a·b + c + d, which cannot overflow. This is the portable step of limb arithmetic. */
export function wmad<T extends Unsigned>(
  a: Expr<T>,
  b: ExprLike<NoInfer<T>>,
  c: ExprLike<NoInfer<T>>,
  d: ExprLike<NoInfer<T>>,
): { lo: Expr<T>; hi: Expr<T> } {
  return { lo: apply('add', apply('add', apply('mul', a, b), c), d), hi: apply('wmadHi', a, b, c, d) };
}

/** Makes a u64 of its two words. */
export function u64Of(low: ExprLike<'u32'>, high: ExprLike<'u32'>): Expr<'u64'> {
  return apply('pack', low, high);
}

export interface Chain<T extends Unsigned> {
  /** Limbs, least significant first. */
  readonly limbs: Expr<T>[];
  /** The carry or borrow out of the last limb, 0 or 1. */
  readonly out: Expr<T>;
}

/** Adds a + b over limbs, least significant first. */
export function addChain<T extends Unsigned>(a: readonly Expr<T>[], b: readonly ExprLike<T>[]): Chain<T> {
  return chain('add', 'carry', a, b);
}

/** Subtracts a - b over limbs, least significant first. */
export function subChain<T extends Unsigned>(a: readonly Expr<T>[], b: readonly ExprLike<T>[]): Chain<T> {
  return chain('sub', 'borrow', a, b);
}

function chain<T extends Unsigned>(
  op: 'add' | 'sub',
  out: 'carry' | 'borrow',
  a: readonly Expr<T>[],
  b: readonly ExprLike<T>[],
): Chain<T> {
  const first = a[0];
  if (!first || a.length !== b.length) {
    throw typeError(
      `a chain needs two numbers of the same, non-zero limb count, not ${a.length} and ${b.length}`,
      'pad with zero limbs',
    );
  }
  let rest = lit(first.type, 0);
  const limbs = a.map((x, i) => {
    const y = operand(first.type, b[i] as ExprLike<T>);
    const limb: Expr<T> = apply(op, apply(op, x, y), rest);
    rest = apply(out, x, y, rest);
    return limb;
  });
  return { limbs, out: rest };
}
