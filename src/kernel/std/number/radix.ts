import { MillraceError } from '../../error.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { select } from '../../language/operations.js';
import type { Unsigned } from '../../language/types.js';

export interface RadixOptions {
  /** Digits to add, least significant first: those of a chunk's first index; `index` then counts from 0. */
  readonly start?: readonly ExprLike<'u32'>[];
  /** A promise that `index` is smaller than this. If its type allows more, this saves divisions. */
  readonly below?: number | bigint;
}

export interface Radix {
  /** Least significant first; each is smaller than its size. */
  readonly digits: Expr<'u32'>[];
  /** True if index plus start passed the last combination. The digits then continue from the first one. */
  readonly wrapped: Expr<'bool'>;
}

/**
 * Returns the digits of an index in mixed radix, least significant first. Sizes are known while tracing, so each division is
 * a multiplication. A u64 index is divided in 64 bits only until the rest fits 32: with sizes that multiply to 2^40, after
 * the first few digits. Spaces beyond 2^64 use `start`: the host divides their base, in bigint.
 */
export function radix<T extends Unsigned>(
  index: Expr<T>,
  sizes: readonly number[],
  { start, below }: RadixOptions = {},
): Radix {
  check(sizes, start);
  let bound = 1n << (index.type === 'u32' ? 32n : 64n); // the rest is smaller than this
  if (below !== undefined && BigInt(below) < bound) bound = BigInt(below);
  let rest: Rest = narrowed(index as Rest, bound);
  let carry: Expr<'bool'> | undefined;
  const digits = sizes.map((size, i) => {
    const [quotient, digit] = divided(rest, size, bound);
    bound = (bound + BigInt(size) - 1n) / BigInt(size);
    rest = narrowed(quotient, bound);
    if (!start) return digit;
    // digit + start + carry is below 2·size, so that one subtraction is enough.
    const sum = digit.add(start[i] as ExprLike<'u32'>);
    const total = carry ? sum.add(carry.to('u32')) : sum;
    carry = total.ge(size);
    return select(carry, total.sub(size), total);
  });
  const beyond = bound <= 1n ? undefined : isNotZero(rest);
  return { digits, wrapped: carry && beyond ? carry.or(beyond) : (carry ?? beyond ?? operand('bool', false)) };
}

type Rest = Expr<'u32'> | Expr<'u64'>;

/** Returns quotient and remainder of a value that is smaller than `bound`. */
function divided(rest: Rest, size: number, bound: bigint): [Rest, Expr<'u32'>] {
  if (bound <= BigInt(size)) return [operand('u32', 0), rest.type === 'u32' ? (rest as Expr<'u32'>) : low(rest)];
  if (rest.type === 'u32') {
    const value = rest as Expr<'u32'>;
    const quotient = value.div(size);
    return [quotient, value.sub(quotient.mul(size))];
  }
  const quotient = (rest as Expr<'u64'>).div(size);
  // The remainder is below 2^32, so the low words are enough for it.
  return [quotient, low(rest).sub(low(quotient).mul(size))];
}

const low = (value: Rest): Expr<'u32'> => (value.type === 'u32' ? (value as Expr<'u32'>) : (value as Expr<'u64'>).lo);
const narrowed = (value: Rest, bound: bigint): Rest => (bound <= 1n << 32n ? low(value) : value);
const isNotZero = (value: Rest): Expr<'bool'> =>
  value.type === 'u32' ? (value as Expr<'u32'>).ne(0) : (value as Expr<'u64'>).ne(0);

function check(sizes: readonly number[], start: readonly ExprLike<'u32'>[] | undefined): void {
  const wrong = sizes.find((size) => !Number.isInteger(size) || size < 1 || size > 2 ** 31);
  if (wrong === undefined && (!start || start.length === sizes.length)) return;
  throw new MillraceError({
    code: 'kernel-value',
    message:
      wrong === undefined
        ? `${sizes.length} digits, but ${start?.length} starting digits`
        : `a digit cannot have size ${wrong}`,
    asked: 'digits of an index in mixed radix',
    advice: 'give sizes from 1 to 2^31, and as many starting digits as sizes',
  });
}
