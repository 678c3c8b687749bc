import { type Expr, type ExprLike, lit, operand, typeError } from '../../language/expr.js';
import { fma } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import { type Float, isFloat, type Type, type WideFloat } from '../../language/types.js';

/** A float type. Its bits are worked on as an unsigned integer of the same width. */
export interface Format {
  readonly bits: 'u32' | 'u64';
  /** Bits of the fraction, which are below those of the exponent. */
  readonly fraction: number;
  readonly bias: bigint;
  /** The sign's bit. */
  readonly sign: bigint;
  /** The bits of 1. */
  readonly one: bigint;
  /** 1.5 · 2^fraction: adding it rounds to an integer, which is then in the low bits. */
  readonly rounder: number;
  readonly rounderBits: bigint;
  readonly minNormal: number;
}

export const formats: Readonly<Record<WideFloat, Format>> = {
  f64: {
    bits: 'u64',
    fraction: 52,
    bias: 1023n,
    sign: 1n << 63n,
    one: 0x3ff0_0000_0000_0000n,
    rounder: 1.5 * 2 ** 52,
    rounderBits: 0x4338_0000_0000_0000n,
    minNormal: 2 ** -1022,
  },
  f32: {
    bits: 'u32',
    fraction: 23,
    bias: 127n,
    sign: 1n << 31n,
    one: 0x3f80_0000n,
    rounder: 1.5 * 2 ** 23,
    rounderBits: 0x4b40_0000n,
    minNormal: 2 ** -126,
  },
};

/** Defines a std function of floats of one type, with a result of that type. */
export function floatFunction(
  name: string,
  body: <T extends WideFloat>(first: Expr<T>, second: Expr<T>) => Expr<T>,
): <T extends Float>(first: Expr<T>, second?: ExprLike<NoInfer<T>>) => Expr<T> {
  const call = std({
    name,
    results: ([first]) => [first?.type ?? 'f64'],
    generic: (first, second) => [body(first as Expr<WideFloat>, second as Expr<WideFloat>)],
  });
  return <T extends Float>(first: Expr<T>, second?: ExprLike<T>) => {
    const others = second === undefined ? [] : [operand(first.type, second)];
    const [result] = byWideFloat(name, [first, ...others], call);
    return result as Expr<T>;
  };
}

/** Calls a function of f32 or f64. Of f16 it is that of f32, rounded. */
export function byWideFloat<T extends Float>(
  name: string,
  args: readonly Expr<T>[],
  call: (...args: Expr<Type>[]) => Expr<Type>[],
): Expr<Type>[] {
  const type = (args[0] as Expr<T>).type as Type;
  if (type === 'f16') return call(...args.map((arg) => arg.to('f32'))).map((result) => result.to('f16'));
  if (type === 'i64' || !isFloat(type))
    throw typeError(`${name} is not defined for ${type}`, 'convert the value first');
  return call(...args);
}

/** The sign bit of a float, and the float without it. */
export function splitSign<T extends WideFloat>(x: Expr<T>) {
  const { bits, sign: mask } = formats[x.type];
  const all = x.bits(bits);
  const sign = all.and(mask);
  return { sign, size: all.xor(sign).bits(x.type) };
}

/** Returns c₀ + c₁x + c₂x² + … */
export function polynomial<T extends WideFloat>(x: Expr<T>, coefficients: readonly number[]): Expr<T> {
  const [last = 0, ...others] = [...coefficients].reverse();
  return others.reduce((sum: Expr<T>, coefficient) => fma(sum, x, coefficient), lit(x.type, last));
}
