import type { Expr } from '../../../kernel/language/expr.js';
import { mulHi } from '../../../kernel/language/operations.js';

/**
 * Division by a number that only the job knows, as one multiplication: n / d = (2n · magic) >> 32 >> shift for every
 * n below 2^31. With s = ⌈log2 d⌉ and magic = ⌈2^(31+s) / d⌉ the product is too large by less than n·d / 2^(31+s) of
 * a unit in the quotient's last place, which is below 1/d. So one program serves every mask, at the price of constants.
 */
export type Divisor = readonly [size: number, magic: number, shift: number];

export function divisorOf(size: number): Divisor {
  const shift = Math.ceil(Math.log2(size));
  const magic = ((1n << BigInt(31 + shift)) + BigInt(size) - 1n) / BigInt(size);
  return [size, Number(magic), shift];
}

type DivisorExprs = readonly [Expr<'u32'>, Expr<'u32'>, Expr<'u32'>];

/** Quotient and remainder of a value below 2^31. */
export function divide(value: Expr<'u32'>, [size, magic, shift]: DivisorExprs): [Expr<'u32'>, Expr<'u32'>] {
  const quotient = mulHi(value.add(value), magic).shr(shift);
  return [quotient, value.sub(quotient.mul(size))];
}
